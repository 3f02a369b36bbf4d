#include "gpuadm/base/text.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/kubelet/reasons.hpp"
#include "checks/last_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

/// Containers of a node that ended or do not start: which, how and why, and what to do.
namespace checks {

namespace {

using facts::PodContainer;
using facts::PodError;
using facts::PodStates;

/// kubeadm's static pods, each after its dependencies.
constexpr std::array<std::string_view, 5> parts = {"etcd", "kube-apiserver", "kube-controller-manager",
                                                   "kube-scheduler", "kube-vip"};

std::size_t part_of(std::string_view pod) {
  constexpr std::string_view ns = "kube-system/";
  if (!pod.starts_with(ns)) return parts.size();
  pod.remove_prefix(ns.size());
  const auto* const part = std::ranges::find_if(parts, [&](std::string_view name) {
    return pod.starts_with(name) && pod.substr(name.size()).starts_with('-');
  });
  return static_cast<std::size_t>(part - parts.begin());
}

constexpr int killed = 137;  ///< exit status: 128 + SIGKILL

bool runs(const PodStates& states, const PodError& error) {
  bool any = false, all = true;
  for (const PodContainer& one : states.containers) {
    if (one.full() != error.pod || (!error.container.empty() && one.name != error.container)) continue;
    any = true;
    all = all && (one.state == "running" || (one.state == "exited" && one.exit_code == 0));
  }
  return any && all;
}

}  // namespace

bool is_static_pod(std::string_view pod) {
  return part_of(pod) < parts.size();
}

bool is_system_pod(std::string_view pod) {
  return std::ranges::any_of(
      std::array<std::string_view, 3>{"kube-system/", "kube-flannel/", "kube-node-lease/"},
      [&](std::string_view ns) { return pod.starts_with(ns); });
}

std::optional<LastLine> last_words_of(const PodContainer& container) {
  if (container.message.empty()) return last_line(container.log, pod_lines());
  return LastLine{container.message, known_of(container.message, pod_lines())};
}

std::string how_it_ended(const PodContainer& one) {
  const auto last = last_words_of(one);
  const bool quoted = last && !one.message.empty() && (!last->known || last->known->cause.empty());
  const std::string why = quoted ? last_clause(one.message) : last ? last->message() : std::string();
  if (one.reason == "OOMKilled") return one.name + " was killed: it reached its memory limit (OOMKilled)";
  if (one.state == "created") return fmt::format("{} cannot be started: {}", one.name, why);
  std::string text = one.exit_code ? fmt::format("{} exits with status {}", one.name, *one.exit_code)
                                   : fmt::format("{} does not run", one.name);
  return why.empty() ? text : text + ": " + why;
}

bool ran_out_of_memory(const facts::Facts& facts, const PodContainer& one) {
  constexpr std::size_t kept = 15;
  const std::string program = "(" + one.name.substr(0, kept);
  return facts.kernel.log && one.exit_code == killed &&
         std::ranges::any_of(*facts.kernel.log, [&](const facts::LogLine& line) {
           return line.text.starts_with("Out of memory: Killed process") && contains(line.text, program);
         });
}

std::string remedy_of(const PodContainer& one) {
  const auto last = last_words_of(one);
  const bool is_static = is_static_pod(one.full());
  // An argument or a flag that the program does not know.
  constexpr int usage = 6;
  std::string otherwise =
      is_static && last && weight(last->line) == usage
          ? fmt::format("correct /etc/kubernetes/manifests/{}.yaml, and what it was written from", one.name)
      : one.exit_code == killed
          ? "dmesg -T | grep -i killed; the kubelet also kills a container whose liveness probe fails: "
            "journalctl -u kubelet | grep -i probe"
      : is_static ? fmt::format(
                        "read /var/log/pods/{}_{}_*/{}/*.log; its settings are in "
                        "/etc/kubernetes/manifests/{}.yaml",
                        one.ns, one.pod, one.name, one.name)
                  : fmt::format("kubectl -n {} logs --previous {} -c {}", one.ns, one.pod, one.name);
  return last ? last->remedy(otherwise) : otherwise;
}

std::vector<PodContainer> broken_containers(const PodStates& states) {
  std::vector<PodContainer> broken;
  for (const PodContainer& one : states.containers) {
    if (one.state != "exited" && one.state != "created" && one.state != "restarting") continue;
    if (one.state == "created" && one.message.empty()) continue;
    const bool failing = std::ranges::any_of(states.errors, [&](const PodError& error) {
      return error.pod == one.full() && error.container == one.name;
    });
    if (is_static_pod(one.full()) || (failing && one.exit_code != 0)) broken.push_back(one);
  }
  std::ranges::stable_sort(broken, {}, [](const PodContainer& one) { return part_of(one.full()); });
  return broken;
}

std::vector<PodError> current_errors(const PodStates& states) {
  std::vector<PodError> errors;
  std::ranges::copy_if(states.errors, std::back_inserter(errors),
                       [&](const PodError& error) { return !runs(states, error); });
  std::ranges::stable_sort(errors, {}, [](const PodError& error) {
    return std::pair(!is_system_pod(error.pod), part_of(error.pod));
  });
  return errors;
}

}  // namespace checks
