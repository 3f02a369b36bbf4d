#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/state.hpp"

#include "workload/image_pull.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Tree;
using Outlook = PodStart::Outlook;
using Stage = PodStart::Stage;

constexpr std::size_t longest_message = 300;

/// One line of what the API server says.
std::string said(const std::string& text) {
  return base::printable(base::trim(base::replace_all(text, "\n", " ")), longest_message);
}

/// The last line of a container's log or message.
std::string last_line(const std::string& text) {
  const auto lines = base::lines(text);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (!base::trim(*line).empty()) return said(std::string(*line));
  return "";
}

const Tree* condition(const Tree& object, std::string_view type) {
  const Tree* all = object.at({"status", "conditions"});
  if (!all) return nullptr;
  for (const Tree& one : all->items())
    if (text_at(one, {"type"}) == type) return &one;
  return nullptr;
}

bool is_true(const Tree& object, std::string_view type) {
  const Tree* found = condition(object, type);
  return found && text_at(*found, {"status"}) == "True";
}

/// Why a container ended: "it ended with exit status 1: ModuleNotFoundError: …".
std::string why_ended(const Tree& ended) {
  const std::string reason = text_at(ended, {"reason"}), message = text_at(ended, {"message"});
  if (reason == "OOMKilled") return "it used more memory than its limit (OOMKilled): increase --memory";
  if (reason == "ContainerCannotRun" || reason == "StartError")
    return "the container cannot start: " + said(message);
  const std::string line = last_line(message);
  return fmt::format("it ended with exit status {}{}{}", text_at(ended, {"exitCode"}),
                     line.empty() ? "" : ": ", line);
}

void see_waiting(const Tree& status, const Tree& waiting, PodStart& start) {
  const std::string reason = text_at(waiting, {"reason"}), message = text_at(waiting, {"message"});
  const std::string image = base::printable(text_at(status, {"image"}), longest_message);
  if (reason == "ErrImagePull" || reason == "ImagePullBackOff") {
    start.why = fmt::format("cannot pull the image {}: {}", image, said(message));
    start.outlook = is_final_pull(message) ? Outlook::lost : Outlook::doubtful;
  } else if (reason == "InvalidImageName" || reason == "ErrImageNeverPull") {
    start.why = fmt::format("cannot use the image {}: {}", image, said(message));
    start.outlook = Outlook::lost;
  } else if (reason == "CrashLoopBackOff") {
    const Tree* ended = status.at({"lastState", "terminated"});
    start.why = ended ? why_ended(*ended) : said(message);
    start.outlook = Outlook::lost;
  } else if (!reason.empty() && reason != "ContainerCreating" && reason != "PodInitializing") {
    start.why = fmt::format("{}: {}", said(reason), said(message));
    start.outlook = Outlook::doubtful;
  }
}

void see_container(const Tree& status, PodStart& start) {
  if (const Tree* waiting = status.at({"state", "waiting"})) return see_waiting(status, *waiting, start);
  if (const Tree* ended = status.at({"state", "terminated"})) {
    const std::string reason = text_at(*ended, {"reason"});
    start.why = why_ended(*ended);
    const bool lost = reason == "OOMKilled" || reason == "ContainerCannotRun" || reason == "StartError";
    start.outlook = lost ? Outlook::lost : Outlook::doubtful;
    return;
  }
  if (status.at({"state", "running"})) start.stage = Stage::running;
}

void see_pod(const Tree& pod, PodStart& start) {
  start.pod = text_at(pod, {"metadata", "name"});
  start.node = base::printable(text_at(pod, {"spec", "nodeName"}), longest_message);
  start.stage = start.node.empty() ? Stage::unscheduled : Stage::starting;
  if (const Tree* scheduled = condition(pod, "PodScheduled");
      scheduled && text_at(*scheduled, {"status"}) == "False") {
    start.why = "no node can run it: " + said(text_at(*scheduled, {"message"}));
    start.outlook = Outlook::doubtful;
    return;
  }
  if (text_at(pod, {"status", "phase"}) == "Failed") {
    start.why = fmt::format("{}: {}", said(text_at(pod, {"status", "reason"})),
                            said(text_at(pod, {"status", "message"})));
    start.outlook = Outlook::doubtful;
  }
  if (const Tree* containers = pod.at({"status", "containerStatuses"}))
    for (const Tree& status : containers->items()) see_container(status, start);
  if (is_true(pod, "Ready")) start.stage = Stage::ready;
}

}  // namespace

PodStart read_start(std::span<const Tree> objects) {
  PodStart start;
  const Tree *newest = nullptr, *deployment = nullptr;
  for (const Tree& object : objects) {
    const std::string kind = text_at(object, {"kind"});
    if (kind == "Deployment") deployment = &object;
    if (kind != "Pod" || object.at({"metadata", "deletionTimestamp"})) continue;
    const auto made = [](const Tree& pod) { return text_at(pod, {"metadata", "creationTimestamp"}); };
    if (!newest || made(*newest) < made(object)) newest = &object;
  }
  if (newest) {
    see_pod(*newest, start);
  } else if (deployment) {
    const Tree* failure = condition(*deployment, "ReplicaFailure");
    if (failure && text_at(*failure, {"status"}) == "True") {
      start.why = "no pod can be created: " + said(text_at(*failure, {"message"}));
      start.outlook = Outlook::doubtful;
    }
  }
  return start;
}

std::string describe(const PodStart& start) {
  const std::string node = start.node.empty() ? "" : " on " + start.node;
  switch (start.stage) {
    case Stage::no_pod:
      return "waiting for the pod";
    case Stage::unscheduled:
      return "waiting for a node";
    case Stage::starting:
      return "waiting for the image and the volumes" + node;
    case Stage::running:
      return "waiting for the web server" + node;
    case Stage::ready:
      return "ready" + node;
  }
  return "";
}

}  // namespace workload
