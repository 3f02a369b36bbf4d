#pragma once

#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/plan/plan.hpp"
#include "gpuadm/spec/cluster.hpp"

namespace session {

/// Settles what the checks must know to say what the run will do: spec::Kubernetes::without_dns, and for
/// every host where programs that it lacks come from (spec::Host::programs_come, runtime_supply and
/// toolkit_supply). `bundle` may be null: repositories.
void resolve_supplies(spec::Cluster& cluster, const facts::Census& census, const bundle::Bundle* bundle,
                      const plan::Choice& choice);

}  // namespace session
