#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/workload/state.hpp"
#include "gpuadm/workload/user.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Queues for jobs on GPUs, of the add-on kueue (https://kueue.sigs.k8s.io/docs/concepts/): objects that are
/// computed from the nodes and users of a cluster, and jobs that wait in them.
namespace workload {

using base::Result;

inline constexpr std::string_view kueue_addon = "kueue", kueue_version = "kueue.x-k8s.io/v1beta2";
/// Label of a Job that waits in the LocalQueue of this name in its namespace.
inline constexpr std::string_view queue_label = "kueue.x-k8s.io/queue-name";
/// The LocalQueue that gpuadm makes in a namespace, and the ClusterQueue of all who have none of their own.
inline constexpr std::string_view own_queue = "gpuadm";
/// "README.md: Requires Kubernetes 1.29 or newer" (github.com/kubernetes-sigs/kueue, v0.19.2).
inline constexpr base::Version kueue_since{1, 29, -1};

/// What happens to GPUs of a user's share that the user's jobs do not use. strict: they stay free; borrow:
/// jobs of others run on them until they end; reclaim: the same, and such jobs are stopped and queued again
/// when the share is needed.
enum class Sharing { strict, borrow, reclaim };
/// Fault::usage for another word.
[[nodiscard]] Result<Sharing> parse_sharing(std::string_view word);

/// GPUs of one product, as all nodes with it offer them.
struct QueueFlavor {
  std::string name;     ///< of the ResourceFlavor: "gpuadm-nvidia-h200"
  std::string product;  ///< label nvidia.com/gpu.product of the nodes; empty: they have none
  std::map<std::string, long long> offers;  ///< resource of a device plugin -> number
};
/// By the name of the flavor. A node that accepts no pods now counts, too. Fault::remote if the nodes could
/// not be read; Fault::blocked if no node offers GPUs by a device plugin.
[[nodiscard]] Result<std::vector<QueueFlavor>> queue_flavors(const facts::ClusterFacts& cluster);

/// ResourceFlavors, ClusterQueues and LocalQueues, in the order of creation, with the labels of the add-on.
/// A user with a quota of GPUs has a ClusterQueue: the share that is guaranteed is the quota, or, if the
/// quotas add up to more than there is, the same fraction of each; the limit is the quota. What is in no
/// share belongs to the ClusterQueue `gpuadm`, which is for all others and for the namespace `default`.
[[nodiscard]] std::vector<base::Tree> queue_objects(const std::vector<QueueFlavor>& flavors,
                                                    std::span<const UserState> users, Sharing sharing);
/// The kinds of queue_objects for ClusterClient::get, in the order in which they are deleted.
[[nodiscard]] std::vector<std::string> queue_kinds();
/// All kinds of Kueue whose objects can have its finalizers, in that order.
[[nodiscard]] std::vector<std::string> kueue_kinds();

/// A Job that Kueue knows, from its Workload.
struct QueuedJob {
  enum class Phase { waiting, admitted, finished };
  std::string ns, job;        ///< name of the Job; empty: of another kind
  std::string queue;          ///< LocalQueue
  std::string cluster_queue;  ///< of the LocalQueue, or where it is admitted; empty: unknown
  Phase phase = Phase::waiting;
  long long priority = 0;
  std::string since;                      ///< RFC 3339: when it was created, or went back to the queue
  std::string admitted;                   ///< RFC 3339: when it got its GPUs; empty: it has none
  std::map<std::string, long long> gpus;  ///< resource -> number that all of its pods request
  std::optional<long long> lacking;       ///< GPUs that are missing, as Kueue counts them
  std::string why;                        ///< Kueue's message; printable
  std::string stopped;                    ///< why it was sent back to the queue; empty: it was not
};
/// The kinds of the objects from which queued_jobs reads places, for ClusterClient::get.
[[nodiscard]] std::vector<std::string> place_kinds();
/// The jobs among objects (Workloads and LocalQueues), in the order of their queues: the first of a queue is
/// admitted first.
[[nodiscard]] std::vector<QueuedJob> queued_jobs(std::span<const base::Tree> objects);
/// The Workload of a Job, or nullptr.
[[nodiscard]] const QueuedJob* find_queued(const std::vector<QueuedJob>& jobs, std::string_view ns,
                                           std::string_view job);
/// The state "queued" and the place, for Jobs of training that their queue has not admitted. `objects`: those
/// of the rows.
void add_places(std::vector<WorkloadRow>& rows, std::span<const base::Tree> objects,
                const std::vector<QueuedJob>& jobs);
/// Whether one of the objects is a Job that waits in a queue.
[[nodiscard]] bool has_queued(std::span<const base::Tree> objects);
/// "3rd of 5 in the queue gpuadm; needs 4 GPUs, 2 are free; anna/ddp has 2 since 2026-12-01 14:02 UTC", or
/// what it waits for in Kueue's words; of a job that waits. Of the jobs that have such GPUs, at most three,
/// and the one that has had them for the longest time first. `jobs`: of queued_jobs.
[[nodiscard]] std::string describe_place(const QueuedJob& job, const std::vector<QueuedJob>& jobs);

}  // namespace workload
