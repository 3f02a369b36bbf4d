#include "gpuadm/kube/verdict.hpp"

#include "gpuadm/base/text.hpp"

#include "kube/pod/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace kube {

namespace {

using base::Tree;

constexpr std::size_t longest_text = 400;

/// Reasons that last until the pod, or what it names, is changed. Every other reason may pass.
constexpr std::array<std::string_view, 19> lasting_reasons = {
    "image-name-invalid",  "image-never-pull",  "image-platform",         "image-not-found",
    "image-unauthorized",  "configmap-missing", "secret-missing",         "key-missing",
    "runs-as-root",        "command-not-found", "command-not-executable", "exec-format",
    "file-missing",        "mount-path",        "memory-limit-too-low",   "oom-killed",
    "cuda-driver-too-old", "working-directory", "image-signature"};

/// A container that ends is restarted, so that only its restarts show whether that helps.
Outlook outlook_of(const Pod& pod, const PodLink& link, const WaitRules& rules) {
  const Container* container = pod::culprit(pod);
  if (link.state != LinkState::broken || link.reason == "node-lost") return Outlook::waiting;
  const bool is_ending = link.link == "start" || link.link == "run";
  if (is_ending && container && container->state.kind == "running") return Outlook::waiting;
  if (rules.must_be_created && (is_ending || link.link == "configuration") && container &&
      container->state.kind == "waiting")
    return Outlook::hopeless;
  const bool repeats = is_ending && container && container->state.reason == "CrashLoopBackOff";
  if (!repeats && std::ranges::find(lasting_reasons, link.reason) == lasting_reasons.end())
    return Outlook::doubtful;
  return is_ending && container && container->restarts < rules.restarts ? Outlook::doubtful
                                                                        : Outlook::hopeless;
}

Stage stage_of(const Pod& pod) {
  if (pod.phase == "Succeeded") return Stage::succeeded;
  if (pod.phase == "Failed") return Stage::failed;
  if (pod.node.empty()) return Stage::unscheduled;
  if (const auto place = pod.conditions.find("Ready");
      place != pod.conditions.end() && place->second.status == "True")
    return Stage::ready;
  const bool runs = std::ranges::any_of(
      pod.containers, [](const Container& one) { return !one.is_init && one.state.kind == "running"; });
  return runs ? Stage::running : Stage::starting;
}

/// Why a Deployment has no pod.
PodVerdict without_pod(const Tree& deployment) {
  PodVerdict verdict;
  const Tree* conditions = deployment.at({"status", "conditions"});
  if (!conditions) return verdict;
  for (const Tree& one : conditions->items()) {
    if (text_at(one, {"type"}) != "ReplicaFailure" || text_at(one, {"status"}) != "True") continue;
    const PodLink link =
        pod::refused(text_at(one, {"message"}), text_at(deployment, {"metadata", "namespace"}));
    verdict.outlook = Outlook::doubtful;
    verdict.reason = link.reason;
    verdict.text = base::printable(link.what, longest_text);
    verdict.fix = base::printable(link.fix, longest_text);
  }
  return verdict;
}

}  // namespace

PodVerdict verdict_of(const Pod& pod, const PodLink* first, const WaitRules& rules) {
  PodVerdict verdict{.stage = stage_of(pod),
                     .reason = {},
                     .text = {},
                     .fix = {},
                     .pod = pod.name,
                     .node = base::printable(pod.node, longest_text)};
  if (!first || first->reason.empty()) return verdict;
  verdict.outlook = outlook_of(pod, *first, rules);
  verdict.reason = first->reason;
  verdict.text = base::printable(first->what, longest_text);
  verdict.fix = base::printable(first->fix, longest_text);
  return verdict;
}

bool ends_wait(const WaitRules& rules, Outlook outlook, std::chrono::seconds lasted) {
  if (outlook == Outlook::hopeless) return lasted >= rules.hopeless_for;
  return outlook == Outlook::doubtful && rules.doubtful_for && lasted >= *rules.doubtful_for;
}

PodVerdict judge(const Pod& pod, const WaitRules& rules) {
  static const PodView nothing;
  const std::vector<PodLink> links =
      pod::evaluate({.view = nothing, .pod = pod, .scope = pod::Scope::pod_alone});
  return verdict_of(pod, first_of(links), rules);
}

PodVerdict judge(std::span<const Tree> objects, const WaitRules& rules) {
  const Tree *newest = nullptr, *deployment = nullptr;
  // A node that booted refuses pods until its device plugin reports, and the Deployment replaces them within
  // one second: the time alone does not say which one is left.
  const auto rank = [](const Tree& pod) {
    const std::string phase = text_at(pod, {"status", "phase"});
    return std::pair(phase != "Failed" && phase != "Succeeded",
                     text_at(pod, {"metadata", "creationTimestamp"}));
  };
  for (const Tree& object : objects) {
    const std::string kind = text_at(object, {"kind"});
    if (kind == "Deployment") deployment = &object;
    if (kind != "Pod" || object.at({"metadata", "deletionTimestamp"})) continue;
    if (!newest || rank(*newest) < rank(object)) newest = &object;
  }
  if (newest) return judge(read_pod(*newest), rules);
  return deployment ? without_pod(*deployment) : PodVerdict();
}

std::string describe(const PodVerdict& verdict) {
  const std::string node = verdict.node.empty() ? "" : " on " + verdict.node;
  switch (verdict.stage) {
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
    case Stage::succeeded:
      return "completed" + node;
    case Stage::failed:
      return "the pod failed" + node;
  }
  return "";
}

std::string_view name_of(Outlook outlook) {
  switch (outlook) {
    case Outlook::waiting:
      return "waiting";
    case Outlook::doubtful:
      return "doubtful";
    case Outlook::hopeless:
      return "hopeless";
  }
  return "";
}

std::string_view name_of(Stage stage) {
  constexpr std::array<std::string_view, 7> names = {"no pod", "unscheduled", "starting", "running",
                                                     "ready",  "succeeded",   "failed"};
  return names[static_cast<std::size_t>(stage)];
}

}  // namespace kube
