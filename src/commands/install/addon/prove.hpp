#pragma once

#include "gpuadm/base/text.hpp"

#include "commands/install/addon/plan.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace commands {

/// Waits until the pods of an add-on are ready, and reports what it waits for. Fault::remote if one cannot
/// become ready, Fault::timeout after `timeout`, both with the explanation of the pod; Fault::interrupted.
[[nodiscard]] Result<> wait_addon(const workload::Addon& addon, ReachedCluster& cluster,
                                  std::chrono::seconds timeout, Io& io);
/// Proves that an add-on whose pods are ready works; what was seen, in one line. Faults as wait_addon.
/// Removes what it creates.
[[nodiscard]] Result<std::string> prove_addon(const workload::Addon& addon, ReachedCluster& cluster,
                                              std::chrono::seconds timeout, Io& io);

/// Repeats `attempt` until it has a value, an error, or `timeout` is over: Fault::timeout with the last
/// reason that it has set.
template <class Attempt>
[[nodiscard]] Result<std::string> prove_within(std::chrono::seconds timeout, ReachedCluster& cluster,
                                               const std::string& what, Attempt attempt) {
  const base::Instant until = base::Clock::now() + timeout;
  std::string reason;
  while (true) {
    const std::optional<std::string> seen = TRY(attempt(reason));
    if (seen) return *seen;
    if (base::Clock::now() >= until)
      return base::fail(base::Fault::timeout, what + ": not within " +
                                                  base::human_seconds(static_cast<double>(timeout.count())) +
                                                  (reason.empty() ? "" : ": " + reason));
    TRY(cluster.pause(std::chrono::milliseconds(2000)));
  }
}

/// Proofs of single add-ons.
[[nodiscard]] Result<std::string> prove_local_path(const workload::Addon& addon, ReachedCluster& cluster,
                                                   std::chrono::seconds timeout);
[[nodiscard]] Result<std::string> prove_kueue(const workload::Addon& addon, ReachedCluster& cluster,
                                              std::chrono::seconds timeout);
[[nodiscard]] Result<std::string> prove_jupyterhub(const workload::Addon& addon, ReachedCluster& cluster,
                                                   std::chrono::seconds timeout, Io& io);

}  // namespace commands
