#pragma once

#include "gpuadm/base/secret.hpp"

#include "commands/workloads/serve/serve_plan.hpp"

#include <string>

namespace commands {

/// Compares the model with the GPUs of the hosts that offer some, before anything is created. Returns a
/// sentence for the operator: that it fits and where, or why that is unknown. Fault::blocked with what would
/// fit if it fits on none of them; the faults of a model that is missing, damaged, or not accessible.
[[nodiscard]] Result<std::string> check_model_fit(const ServePlan& plan, const Hosts& hosts,
                                                  const base::Secret& hub_token, ReachedCluster& cluster);

}  // namespace commands
