#include "workload/train_rank.hpp"

#include "gpuadm/base/text.hpp"

#include "workload/image_pull.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace workload {

namespace {

using base::Tree;

constexpr std::size_t longest_reason = 400;

/// Reasons of waiting containers that do not go away: kubernetes pkg/kubelet/images/types.go,
/// pkg/kubelet/container/sync_result.go.
constexpr std::array hopeless_reasons = {"InvalidImageName", "ErrImageNeverPull",
                                         "CreateContainerConfigError", "CreateContainerError",
                                         "RunContainerError"};

std::string with_message(const std::string& reason, const std::string& message) {
  return message.empty() ? reason : fmt::format("{}: {}", reason, message);
}

/// The statuses of init containers, then of containers.
std::vector<const Tree*> statuses_of(const Tree& pod) {
  std::vector<const Tree*> all;
  for (const char* list : {"initContainerStatuses", "containerStatuses"})
    if (const Tree* statuses = pod.at({"status", list}))
      for (const Tree& status : statuses->items()) all.push_back(&status);
  return all;
}

bool is_false(const Tree& pod, std::string_view type) {
  const Tree* conditions = pod.at({"status", "conditions"});
  return conditions && std::ranges::any_of(conditions->items(), [&](const Tree& condition) {
           return text_at(condition, {"type"}) == type && text_at(condition, {"status"}) == "False";
         });
}

std::string unscheduled(const Tree& pod) {
  if (const Tree* conditions = pod.at({"status", "conditions"}))
    for (const Tree& condition : conditions->items())
      if (text_at(condition, {"type"}) == "PodScheduled" && text_at(condition, {"status"}) == "False")
        return with_message(text_at(condition, {"reason"}), text_at(condition, {"message"}));
  return "";
}

void explain_pending(const Tree& pod, RankState& state) {
  if (state.why = unscheduled(pod); !state.why.empty()) return;
  for (const Tree* status : statuses_of(pod)) {
    const std::string reason = text_at(*status, {"state", "waiting", "reason"});
    const std::string message = text_at(*status, {"state", "waiting", "message"});
    if (reason.empty()) continue;
    state.why = with_message(reason, message);
    state.hopeless = std::ranges::find(hopeless_reasons, reason) != hopeless_reasons.end() ||
                     (reason == "ErrImagePull" && is_final_pull(message));
    return;
  }
  state.why = state.node.empty() ? "not scheduled" : "starting";
}

/// 137: killed with SIGKILL, which the kernel also does if memory is exhausted.
std::string describe_exit(int code, const std::string& reason, const std::string& message) {
  std::string text = fmt::format("exit code {}", code);
  if (reason == "OOMKilled") return text + ": out of memory (OOMKilled)";
  if (code > 128 && code < 160) text += fmt::format(" (signal {})", code - 128);
  if (!reason.empty() && reason != "Error") text += ": " + reason;
  return message.empty() ? text : text + ": " + message;
}

void explain_failed(const Tree& pod, RankState& state) {
  for (const Tree* status : statuses_of(pod)) {
    const Tree* ended = status->at({"state", "terminated"});
    const int code = ended ? static_cast<int>(base::to_int(text_at(*ended, {"exitCode"})).value_or(0)) : 0;
    if (code == 0) continue;
    state.exit_code = code;
    state.why = describe_exit(code, text_at(*ended, {"reason"}), text_at(*ended, {"message"}));
    return;
  }
  state.why = with_message(text_at(pod, {"status", "reason"}), text_at(pod, {"status", "message"}));
  if (state.why.empty()) state.why = "the pod failed";
}

}  // namespace

std::optional<int> rank_of(const Tree& object) {
  for (const std::string_view label : {rank_label, index_label})
    for (const char* kind : {"labels", "annotations"})
      if (const Tree* value = object.at({"metadata", kind, label}))
        if (const auto rank = base::to_int(value->text()); rank && *rank >= 0 && *rank < 100'000)
          return static_cast<int>(*rank);
  return std::nullopt;
}

RankState rank_state_of(const Tree& pod, int rank) {
  RankState state;
  state.rank = rank;
  state.pod = text_at(pod, {"metadata", "name"});
  state.node = text_at(pod, {"spec", "nodeName"});
  if (const Tree* containers = pod.at({"spec", "containers"}); containers && !containers->items().empty())
    state.container = text_at(containers->items().front(), {"name"});
  const std::string phase = text_at(pod, {"status", "phase"});
  if (phase == "Succeeded") {
    state.phase = RankState::Phase::succeeded;
  } else if (phase == "Failed") {
    state.phase = RankState::Phase::failed;
    explain_failed(pod, state);
  } else if (phase == "Running") {
    state.phase = RankState::Phase::running;
    // A pod without a readiness probe is only not ready while it runs if its node does not report.
    const bool ended = std::ranges::any_of(
        statuses_of(pod), [](const Tree* status) { return status->at({"state", "terminated"}) != nullptr; });
    state.unreachable = is_false(pod, "Ready") && !ended;
    if (state.unreachable) state.why = fmt::format("node {} is not ready", state.node);
  } else {
    state.phase = RankState::Phase::pending;
    explain_pending(pod, state);
  }
  state.why = base::printable(state.why, longest_reason);
  return state;
}

}  // namespace workload
