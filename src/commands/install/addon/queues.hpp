#pragma once

#include "gpuadm/session/cluster.hpp"
#include "gpuadm/workload/queue.hpp"

#include "commands/workloads/reach.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace commands {

/// How GPUs are shared between queues; nothing: the add-on kueue is not enabled.
[[nodiscard]] Result<std::optional<workload::Sharing>> read_sharing(session::ClusterClient& client);

/// Makes ResourceFlavors, ClusterQueues and LocalQueues those of the nodes and users, as they are now. What
/// is so already is not changed. Returns what was done: "create ClusterQueue gpuadm". Fault::blocked, with
/// nothing changed, if an object of others has a name of these.
[[nodiscard]] Result<std::vector<std::string>> update_queues(workload::Sharing sharing,
                                                             session::ClusterClient& client);
/// The same after users were added, changed or removed, if the add-on is enabled; otherwise nothing. The hint
/// of an error says how to repeat it. Prints what was done.
[[nodiscard]] Result<> update_queues_of_users(session::ClusterClient& client, Io& io);

/// update_queues for the setting in the inventory, once Kueue's webhooks answer, which they do some seconds
/// after its pod is ready. Fault::timeout with the last refusal.
[[nodiscard]] Result<> enable_queues(ReachedCluster& cluster, std::chrono::seconds timeout, Io& io);

/// Fault::blocked if jobs wait in queues, which nothing would start any more, or if there are queues of
/// others.
[[nodiscard]] Result<> check_queues_unused(session::ClusterClient& client, bool force);
/// Deletes all objects of Kueue's kinds. It must not run any more: its finalizers are removed.
[[nodiscard]] Result<> delete_queues(session::ClusterClient& client);

}  // namespace commands
