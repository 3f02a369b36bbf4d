#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/queue.hpp"

#include "commands/workloads/train/train_wait.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr const char* local_queues = "localqueues.kueue.x-k8s.io";

/// kubectl's words for a kind that the API server does not have.
bool is_unknown_kind(const base::Error& error) {
  return error.what.find("the server doesn't have a resource type") != std::string::npos ||
         error.what.find("could not find the requested resource") != std::string::npos;
}

}  // namespace

Result<> find_queue(session::ClusterClient& client, workload::TrainJob& job, const std::string& option,
                    const Hosts& hosts) {
  const Tree* label = job.labels.find(workload::queue_label);
  const std::string name = !option.empty() ? option : label ? label->text() : "";
  if (name.empty()) return {};
  const auto queues = client.get({{local_queues}, job.ns, {}});
  if (!queues && is_unknown_kind(queues.error())) {
    // Another controller may know the label of the manifest; a suspended job would never start.
    if (option.empty() && job.queue.empty()) return {};
    return base::fail(Fault::blocked, "the cluster has no queues: the add-on kueue is not enabled",
                      fmt::format("gpuadm addon enable kueue{}; or without a queue: --wait 12h",
                                  session::typed(hosts, {})));
  }
  if (!queues) return std::unexpected(queues.error());
  std::vector<std::string> names;
  for (const Tree& queue : *queues)
    names.push_back(base::printable(text_at(queue, {"metadata", "name"}), 80));
  if (std::ranges::find(names, name) == names.end())
    return base::fail(
        Fault::blocked, fmt::format("the namespace {} has no queue {}", job.ns, base::printable(name, 80)),
        names.empty() ? "gpuadm addon enable kueue makes the queues of users and of the namespace "
                        "default"
                      : "it has: " + base::join(names, ", "));
  job.queue = name;
  return {};
}

Result<QueuePlace> read_place(session::ClusterClient& client, const workload::TrainState& state) {
  // A user may read the own namespace only, in which all jobs of the user's queue are.
  const std::string ns = client.is_limited() ? state.ns : std::string();
  const auto jobs = workload::queued_jobs(TRY(client.get({workload::place_kinds(), ns, {}})));
  for (const std::string& name : state.jobs)
    if (const auto* job = workload::find_queued(jobs, state.ns, name))
      return QueuePlace{true, job->phase == workload::QueuedJob::Phase::waiting
                                  ? workload::describe_place(*job, jobs)
                                  : "admitted, and about to start"};
  return QueuePlace{false, "Kueue has not queued it yet"};
}

}  // namespace commands
