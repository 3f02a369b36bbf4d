#pragma once

#include "gpuadm/base/secret.hpp"

#include "commands/workloads/serve/serve_plan.hpp"

#include <string>

namespace commands {

/// Compares the model with the GPUs of the hosts that offer some, before anything is created. Returns a
/// sentence for the operator: that it fits and where, or why that is unknown. Fault::blocked with what would
/// fit if it fits on none of them; the faults of a model that is missing, damaged, or not accessible.
[[nodiscard]] Result<std::string> check_model_fit(ServePlan& plan, const Hosts& hosts,
                                                  const base::Secret& hub_token, ReachedCluster& cluster);

/// The commit of a model of a hub, so that every pod gets the same one. Empty: not known, or the engine
/// downloads only the newest. Errors as above, except that a hub which does not answer is not one.
[[nodiscard]] Result<std::string> commit_of_model(const ServePlan& plan, const base::Secret& hub_token);

}  // namespace commands
