#pragma once

#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/plan/plan.hpp"
#include "gpuadm/spec/cluster.hpp"

namespace session {

/// Sets the decisions that the checks need to predict the run: spec::Kubernetes::without_dns, and for every
/// host the source of programs that it lacks (spec::Host::programs_come, runtime_supply and toolkit_supply).
/// `bundle` may be null: repositories.
void resolve_supplies(spec::Cluster& cluster, const facts::Census& census, const bundle::Bundle* bundle,
                      const plan::Choice& choice);

}  // namespace session
