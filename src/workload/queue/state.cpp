#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/kube/quantity.hpp"
#include "gpuadm/workload/gpus.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <tuple>

namespace workload {

namespace {

using base::Tree;

constexpr std::size_t longest_why = 400;

/// A condition of a Workload that is True (or, with `status`, has it); nullptr: there is none.
const Tree* condition(const Tree& workload, std::string_view type, std::string_view status = "True") {
  const Tree* conditions = workload.at({"status", "conditions"});
  if (conditions)
    for (const Tree& one : conditions->items())
      if (text_of(one, "type") == type && text_of(one, "status") == status) return &one;
  return nullptr;
}

void add_requests(const Tree& pod_set, QueuedJob& job) {
  const Tree* count = pod_set.find("count");
  const long long pods = count ? count->as_int().value_or(1) : 1;
  const Tree* containers = pod_set.at({"template", "spec", "containers"});
  if (!containers) return;
  for (const Tree& container : containers->items()) {
    const Tree* limits = container.at({"resources", "limits"});
    if (!limits) limits = container.at({"resources", "requests"});
    if (!limits) continue;
    for (const auto& [resource, amount] : limits->entries())
      if (is_gpu_resource(resource))
        job.gpus[resource] += pods * static_cast<long long>(kube::parse_quantity(amount.text()).value_or(0));
  }
}

/// "insufficient unused quota for nvidia.com/gpu in flavor gpuadm-gpu, 2 more needed": the least of all
/// flavors (pkg/scheduler/flavorassigner of Kueue).
std::optional<long long> lacking_in(std::string_view message) {
  constexpr std::string_view begin = "insufficient unused quota for ", end = " more needed";
  std::optional<long long> least;
  for (std::size_t at = message.find(begin); at != std::string_view::npos; at = message.find(begin, at + 1)) {
    const std::string_view rest = message.substr(at + begin.size());
    const std::size_t stop = rest.find(end), comma = rest.find(", ");
    if (stop == std::string_view::npos || comma >= stop || !is_gpu_resource(rest.substr(0, rest.find(' '))))
      continue;
    const auto count = kube::parse_quantity(std::string(rest.substr(comma + 2, stop - comma - 2)));
    if (count) least = std::min(least.value_or(1LL << 40), static_cast<long long>(*count));
  }
  return least;
}

QueuedJob job_in(const Tree& workload) {
  QueuedJob job;
  job.ns = base::printable(text_at(workload, {"metadata", "namespace"}), 80);
  if (const Tree* owners = workload.at({"metadata", "ownerReferences"}))
    for (const Tree& owner : owners->items())
      if (text_of(owner, "kind") == "Job") job.job = base::printable(text_of(owner, "name"), 80);
  job.queue = base::printable(text_at(workload, {"spec", "queueName"}), 80);
  job.cluster_queue = base::printable(text_at(workload, {"status", "admission", "clusterQueue"}), 80);
  if (const Tree* priority = workload.at({"spec", "priority"})) job.priority = priority->as_int().value_or(0);
  job.since = text_at(workload, {"metadata", "creationTimestamp"});
  if (const Tree* sets = workload.at({"spec", "podSets"}))
    for (const Tree& set : sets->items()) add_requests(set, job);
  if (condition(workload, "Finished")) {
    job.phase = QueuedJob::Phase::finished;
  } else if (const Tree* admitted = condition(workload, "Admitted");
             admitted && !condition(workload, "Evicted")) {
    job.phase = QueuedJob::Phase::admitted;
    job.admitted = text_of(*admitted, "lastTransitionTime");
  }
  if (job.phase != QueuedJob::Phase::waiting) return job;
  if (const Tree* waits = condition(workload, "QuotaReserved", "False")) {
    job.lacking = lacking_in(text_of(*waits, "message"));
    job.why = base::printable(text_of(*waits, "message"), longest_why);
  }
  if (const Tree* evicted = condition(workload, "Evicted")) {
    job.stopped = base::printable(text_of(*evicted, "message"), longest_why);
    // Kueue's order: the other reasons keep the place.
    if (text_of(*evicted, "reason") == "PodsReadyTimeout")
      job.since = text_of(*evicted, "lastTransitionTime");
  }
  return job;
}

std::string ordinal(std::size_t number) {
  const std::size_t last = number % 10, tens = number / 10 % 10;
  const char* end = tens == 1 ? "th" : last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
  return fmt::format("{}{}", number, end);
}

/// Of a user's own ClusterQueue all jobs are in one namespace; those of the others may not be readable.
bool are_in_one_queue(const QueuedJob& one, const QueuedJob& other) {
  if (one.cluster_queue.empty()) return one.ns == other.ns && one.queue == other.queue;
  return one.cluster_queue == other.cluster_queue;
}

long long total_of(const QueuedJob& job) {
  long long total = 0;
  for (const auto& [resource, count] : job.gpus) total += count;
  return total;
}

std::string needs_of(const QueuedJob& job) {
  std::vector<std::string> parts;
  for (const auto& [resource, count] : job.gpus)
    parts.push_back(resource == "nvidia.com/gpu"
                        ? fmt::format("{} GPU{}", count, count == 1 ? "" : "s")
                        : fmt::format("{} {}", count, base::printable(resource, 80)));
  return base::join(parts, ", ");
}

/// "2026-12-01 14:02 UTC"; empty: it is not a time.
std::string minute_of(const std::string& time) {
  const auto seconds = base::parse_time(time);
  if (!seconds) return {};
  const std::string text = base::iso8601(base::Time(std::chrono::seconds(static_cast<long long>(*seconds))));
  return fmt::format("{} {} UTC", text.substr(0, 10), text.substr(11, 5));
}

/// Who has GPUs of the kinds that the job needs: "anna/ddp has 2 since 2026-12-01 14:02 UTC". Jobs of other
/// queues can have borrowed GPUs, so they count, too.
std::string holders_of(const QueuedJob& job, const std::vector<QueuedJob>& jobs) {
  constexpr std::size_t most = 3;
  std::vector<std::pair<std::string, std::string>> holders;  // since, and the words
  for (const QueuedJob& one : jobs) {
    long long held = 0;
    for (const auto& [resource, count] : one.gpus)
      if (job.gpus.contains(resource)) held += count;
    const std::string since = minute_of(one.admitted);
    if (one.phase != QueuedJob::Phase::admitted || held == 0) continue;
    holders.emplace_back(
        one.admitted,
        fmt::format("{} has {}{}", one.job.empty() ? "a workload of " + one.ns : one.ns + "/" + one.job, held,
                    since.empty() ? "" : " since " + since));
  }
  std::ranges::sort(holders);
  std::vector<std::string> words;
  for (const auto& holder : holders)
    if (words.size() < most) words.push_back(holder.second);
  if (holders.size() > most) words.push_back(fmt::format("{} more", holders.size() - most));
  return base::join(words, ", ");
}

bool is_queued(const Tree& object) {
  const Tree *labels = object.at({"metadata", "labels"}), *suspend = object.at({"spec", "suspend"});
  return text_of(object, "kind") == "Job" && labels && labels->find(queue_label) && suspend &&
         suspend->as_bool().value_or(false) && !condition(object, "Failed");
}

}  // namespace

std::vector<std::string> place_kinds() {
  return {"workloads.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io"};
}

bool has_queued(std::span<const Tree> objects) {
  return std::ranges::any_of(objects, is_queued);
}

void add_places(std::vector<WorkloadRow>& rows, std::span<const Tree> objects,
                const std::vector<QueuedJob>& jobs) {
  for (const Tree& object : objects) {
    if (!is_queued(object)) continue;
    const Tree& labels = *object.at({"metadata", "labels"});
    const std::string ns = text_at(object, {"metadata", "namespace"});
    for (WorkloadRow& row : rows) {
      if (row.kind != text_of(labels, kind_label) || row.ns != ns || row.name != text_of(labels, name_label))
        continue;
      const QueuedJob* job = find_queued(jobs, ns, text_at(object, {"metadata", "name"}));
      row.state = "queued";
      row.why = !job                                      ? "Kueue has not queued it yet"
                : job->phase == QueuedJob::Phase::waiting ? describe_place(*job, jobs)
                                                          : "admitted, and about to start";
    }
  }
}

std::vector<QueuedJob> queued_jobs(std::span<const Tree> objects) {
  std::map<std::pair<std::string, std::string>, std::string> cluster_queues;
  std::vector<QueuedJob> jobs;
  for (const Tree& object : objects)
    if (text_of(object, "kind") == "LocalQueue")
      cluster_queues[{base::printable(text_at(object, {"metadata", "namespace"}), 80),
                      base::printable(text_at(object, {"metadata", "name"}), 80)}] =
          base::printable(text_at(object, {"spec", "clusterQueue"}), 80);
  for (const Tree& object : objects) {
    if (text_of(object, "kind") != "Workload") continue;
    QueuedJob job = job_in(object);
    const auto queue = cluster_queues.find({job.ns, job.queue});
    if (job.cluster_queue.empty() && queue != cluster_queues.end()) job.cluster_queue = queue->second;
    jobs.push_back(std::move(job));
  }
  std::ranges::stable_sort(jobs, [](const QueuedJob& one, const QueuedJob& other) {
    return std::tuple(-one.priority, one.since) < std::tuple(-other.priority, other.since);
  });
  return jobs;
}

const QueuedJob* find_queued(const std::vector<QueuedJob>& jobs, std::string_view ns, std::string_view job) {
  const QueuedJob* found = nullptr;
  for (const QueuedJob& one : jobs)
    if (one.ns == ns && one.job == job && !job.empty() &&
        (!found || found->phase == QueuedJob::Phase::finished))
      found = &one;
  return found;
}

std::string describe_place(const QueuedJob& job, const std::vector<QueuedJob>& jobs) {
  std::size_t place = 0, all = 0;
  for (const QueuedJob& one : jobs) {
    if (one.phase != QueuedJob::Phase::waiting || !are_in_one_queue(job, one)) continue;
    ++all;
    if (&one == &job) place = all;
  }
  std::string text = fmt::format("{} of {} in the queue {}", ordinal(place), all,
                                 job.cluster_queue.empty() ? job.queue : job.cluster_queue);
  const std::string needs = needs_of(job);
  const long long total = total_of(job);
  if (!needs.empty()) text += "; needs " + needs;
  if (job.lacking && total >= *job.lacking && *job.lacking > 0)
    text += fmt::format(", {} {} free", total - *job.lacking, total - *job.lacking == 1 ? "is" : "are");
  else if (!job.why.empty())
    text += ": " + job.why;
  if (job.lacking || job.why.empty())
    if (const std::string holders = holders_of(job, jobs); !holders.empty()) text += "; " + holders;
  if (!job.stopped.empty()) text += "; stopped before: " + job.stopped;
  return text;
}

}  // namespace workload
