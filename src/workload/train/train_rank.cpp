#include "workload/train/train_rank.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/verdict.hpp"

#include <algorithm>

namespace workload {

std::optional<int> rank_of(const base::Tree& object) {
  for (const std::string_view label : {rank_label, index_label})
    for (const char* kind : {"labels", "annotations"})
      if (const base::Tree* value = object.at({"metadata", kind, label}))
        if (const auto rank = base::to_int(value->text()); rank && *rank >= 0 && *rank < 100'000)
          return static_cast<int>(*rank);
  return std::nullopt;
}

RankState rank_state_of(const base::Tree& object, int rank) {
  const kube::Pod pod = kube::read_pod(object);
  const kube::PodVerdict verdict = kube::judge(pod, kube::rank_wait);
  RankState state;
  state.rank = rank;
  state.pod = pod.name;
  state.node = pod.node;
  for (const kube::Container& one : pod.containers) {
    if (state.container.empty() && !one.is_init) state.container = one.name;
    // Sidecars are ended with the rank.
    if (state.exit_code == 0 && !one.restarts_always && one.state.kind == "terminated")
      state.exit_code = one.state.exit_code;
  }
  state.phase = verdict.stage == kube::Stage::succeeded ? RankState::Phase::succeeded
                : verdict.stage == kube::Stage::failed  ? RankState::Phase::failed
                : pod.phase == "Running"                ? RankState::Phase::running
                                                        : RankState::Phase::pending;
  if (state.phase != RankState::Phase::failed) state.exit_code = 0;
  const bool is_pending = state.phase == RankState::Phase::pending;
  // A rank's container runs once: one that has ended fails the pod within seconds, and then the job has
  // failed.
  const bool has_ended = std::ranges::any_of(pod.containers, [](const kube::Container& one) {
    return !one.is_init && one.state.kind == "terminated";
  });
  state.hopeless = is_pending && !has_ended && kube::ends_wait(kube::rank_wait, verdict.outlook, {});
  state.unreachable = verdict.reason == "node-lost";
  state.why = verdict.text;
  if (state.why.empty() && is_pending) state.why = state.node.empty() ? "not scheduled" : "starting";
  return state;
}

}  // namespace workload
