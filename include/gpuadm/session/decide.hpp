#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/plan/plan.hpp"
#include "gpuadm/spec/decisions.hpp"

namespace session {

/// Decides the driver of each host with GPUs, if one is to be installed. Fault::usage if no single driver
/// supports all its GPUs.
[[nodiscard]] base::Result<> decide_drivers(const spec::Cluster& cluster, const facts::Census& census,
                                            const assets::Store& assets, spec::Decisions& decisions);

/// Decides what the checks need to predict the run: Decisions::without_dns, and for every host the source of
/// programs that it lacks. `bundle` may be null: repositories.
void decide_supplies(const spec::Cluster& cluster, const facts::Census& census, const bundle::Bundle* bundle,
                     const plan::Choice& choice, spec::Decisions& decisions);

}  // namespace session
