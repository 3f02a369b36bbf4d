#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/queue.hpp"

#include "workload/train/train_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace workload {

namespace {

using base::Tree;

/// The Jobs of a training job, and its pods: the last of each rank.
struct Parts {
  std::vector<const Tree*> jobs;
  std::map<int, const Tree*> pods;
};

using Key = std::pair<std::string, std::string>;

std::optional<Key> key_of(const Tree& object) {
  const Tree* kind = object.at({"metadata", "labels", kind_label});
  const Tree* name = object.at({"metadata", "labels", name_label});
  if (!kind || kind->text() != train_kind || !name) return std::nullopt;
  return Key(text_at(object, {"metadata", "namespace"}), name->text());
}

long long number_at(const Tree& tree, std::initializer_list<std::string_view> path, long long otherwise) {
  const Tree* found = tree.at(path);
  return found ? base::to_int(found->text()).value_or(otherwise) : otherwise;
}

/// Reasons that only say that a pod failed, which the state of the rank says with its exit code
/// (kubernetes/api/batch/v1: JobReason).
bool is_of_a_pod(std::string_view reason) {
  return reason == "BackoffLimitExceeded" || reason == "PodFailurePolicy" || reason == "FailedIndexes" ||
         reason == "MaxFailedIndexesExceeded";
}

/// "Complete", "Failed" or empty; with the reason of a failure. From 1.31 on, the reason is there before the
/// pods are deleted (FailureTarget), and "Failed" once they have ended.
std::string ended_as(const Tree& job, std::string& why) {
  if (const Tree* conditions = job.at({"status", "conditions"}))
    for (const Tree& condition : conditions->items()) {
      const std::string type = text_at(condition, {"type"});
      if (text_at(condition, {"status"}) != "True") continue;
      const std::string reason = text_at(condition, {"reason"});
      if ((type == "Failed" || type == "FailureTarget") && !is_of_a_pod(reason)) why = reason;
      if (type == "Complete" || type == "Failed") return type;
    }
  return "";
}

int ranks_in(const std::vector<const Tree*>& jobs) {
  int ranks = 0;
  for (const Tree* job : jobs) ranks += static_cast<int>(number_at(*job, {"spec", "completions"}, 1));
  return ranks;
}

constexpr const char* by_claim = "by claim";

std::string gpus_of(const Tree& job) {
  const Tree* containers = job.at({"spec", "template", "spec", "containers"});
  if (!containers || containers->items().empty()) return "none";
  const Tree& container = containers->items().front();
  if (const Tree* limits = container.at({"resources", "limits"}))
    for (const auto& [name, count] : limits->entries())
      if (name.starts_with("nvidia.com/")) return fmt::format("{} {}", count.text(), name);
  return container.at({"resources", "claims"}) ? by_claim : "none";
}

/// Ranks may differ: a launcher of MPI often has no GPU.
void read_gpus(const std::vector<const Tree*>& jobs, TrainState& state) {
  std::vector<std::string> different;
  for (const Tree* job : jobs)
    if (std::string gpus = gpus_of(*job); std::ranges::find(different, gpus) == different.end())
      different.push_back(std::move(gpus));
  state.has_claims = std::ranges::find(different, by_claim) != different.end();
  if (different != std::vector<std::string>{"none"}) state.gpus = base::join(different, " or ");
}

bool follows(const Tree& job) {
  return job.at({"metadata", "annotations", follower_annotation}) != nullptr;
}

/// Ranks that end with the others do not decide whether the job has succeeded.
TrainState::Phase phase_of(const Parts& parts, TrainState& state) {
  std::size_t complete = 0, stopped = 0, deciding = 0;
  bool has_failed = false;
  for (const Tree* job : parts.jobs) {
    const std::string ended = ended_as(*job, state.why);
    has_failed = has_failed || ended == "Failed";
    if (follows(*job)) continue;
    if (ended == "Failed") return TrainState::Phase::failed;
    ++deciding;
    if (ended == "Complete") ++complete;
    if (ended.empty() && number_at(*job, {"spec", "parallelism"}, 1) == 0) ++stopped;
  }
  // The followers of a job that has succeeded are ended, which may look like a failure.
  if (complete == deciding && state.has_followers) {
    state.why.clear();
    return TrainState::Phase::succeeded;
  }
  if (has_failed || state.failed()) return TrainState::Phase::failed;
  if (complete == deciding) return TrainState::Phase::succeeded;
  if (complete + stopped == deciding) return TrainState::Phase::stopped;
  return state.all_started() ? TrainState::Phase::running : TrainState::Phase::pending;
}

TrainState state_of(const Key& key, const Parts& parts) {
  TrainState state{.name = key.second, .ns = key.first};
  state.ranks = ranks_in(parts.jobs);
  for (int rank = 0; rank < std::min(state.ranks, 10'000); ++rank) {
    const auto pod = parts.pods.find(rank);
    state.states.push_back(pod == parts.pods.end() ? RankState{.rank = rank}
                                                   : rank_state_of(*pod->second, rank));
  }
  // Kubernetes deletes the pods of other ranks when one fails, and of all ranks after a deadline.
  read_gpus(parts.jobs, state);
  state.created = text_at(*parts.jobs.front(), {"metadata", "creationTimestamp"});
  for (const Tree* job : parts.jobs) state.jobs.push_back(text_at(*job, {"metadata", "name"}));
  state.has_followers = std::ranges::any_of(parts.jobs, [](const Tree* job) { return follows(*job); });
  state.phase = phase_of(parts, state);
  state.queued = !state.has_ended() && std::ranges::any_of(parts.jobs, [](const Tree* job) {
    const Tree *suspend = job->at({"spec", "suspend"}), *labels = job->at({"metadata", "labels"});
    return labels && labels->find(queue_label) && suspend && suspend->as_bool().value_or(false);
  });
  return state;
}

}  // namespace

const RankState* TrainState::failed() const {
  const RankState* found = nullptr;
  constexpr int signals = 128;
  for (const RankState& one : states)
    if (one.phase == RankState::Phase::failed &&
        (!found || (found->exit_code <= signals && one.exit_code > signals)))
      found = &one;
  return found;
}

const RankState* TrainState::waiting() const {
  const auto found = std::ranges::find_if(states, [](const RankState& one) {
    return one.phase == RankState::Phase::missing || one.phase == RankState::Phase::pending;
  });
  return found == states.end() ? nullptr : &*found;
}

bool TrainState::all_started() const {
  return waiting() == nullptr;
}

std::string_view name_of(RankState::Phase phase) {
  switch (phase) {
    case RankState::Phase::missing:
      return "no pod";
    case RankState::Phase::pending:
      return "Pending";
    case RankState::Phase::running:
      return "Running";
    case RankState::Phase::succeeded:
      return "Succeeded";
    case RankState::Phase::failed:
      return "Failed";
  }
  return "";
}

std::string_view name_of(TrainState::Phase phase) {
  switch (phase) {
    case TrainState::Phase::pending:
      return "Pending";
    case TrainState::Phase::running:
      return "Running";
    case TrainState::Phase::succeeded:
      return "Succeeded";
    case TrainState::Phase::failed:
      return "Failed";
    case TrainState::Phase::stopped:
      return "Stopped";
  }
  return "";
}

std::vector<TrainState> train_states(const std::vector<Tree>& jobs, const std::vector<Tree>& pods) {
  std::map<Key, Parts> all;
  for (const Tree& job : jobs)
    if (const auto key = key_of(job)) all[*key].jobs.push_back(&job);
  for (const Tree& pod : pods) {
    const auto key = key_of(pod);
    const auto rank = rank_of(pod);
    if (!key || !rank || !all.contains(*key)) continue;
    const Tree*& last = all[*key].pods[*rank];
    const auto age = [](const Tree& one) { return text_at(one, {"metadata", "creationTimestamp"}); };
    if (!last || age(*last) < age(pod)) last = &pod;
  }
  std::vector<TrainState> states;
  for (const auto& [key, parts] : all) states.push_back(state_of(key, parts));
  return states;
}

}  // namespace workload
