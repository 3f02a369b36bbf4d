#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/kubelet/reasons.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace checks {

namespace {

using facts::PodContainer;
using facts::PodError;
using facts::PodStates;

constexpr std::size_t longest = 300;

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

/// `"msg":"…","error":"…"` of a JSON line as "msg: error".
std::string from_json(std::string_view line) {
  const auto tree = base::json::read(std::string(line), "log");
  if (!tree || !tree->is_map()) return {};
  std::string text;
  for (const char* key : {"msg", "message", "error", "err"})
    if (const base::Tree* value = tree->find(key); value && !value->text().empty())
      text += (text.empty() ? "" : ": ") + value->text();
  return text;
}

/// klog's `E1124 16:35:40.123456    4711 pod_workers.go:191] `.
std::string_view without_header(std::string_view line) {
  if (line.size() < 6 || !std::isupper(static_cast<unsigned char>(line[0])) ||
      !std::isdigit(static_cast<unsigned char>(line[1])))
    return line;
  const std::size_t end = line.find("] ");
  return end == std::string_view::npos || end > 120 ? line : line.substr(end + 2);
}

bool any_of(std::string_view line, std::initializer_list<std::string_view> parts_of_it) {
  return std::ranges::any_of(parts_of_it, [&](std::string_view part) { return contains(line, part); });
}

/// Lines about the progress of a program.
bool informs(std::string_view line) {
  return any_of(line, {"maxprocs: ", "[INFO]", "level=info", "\"level\":\"info\"", "INFO:"}) ||
         (line.size() > 1 && line[0] == 'I' && std::isdigit(static_cast<unsigned char>(line[1])));
}

/// How relevant a line of a log is for why the program ended; 0: not at all.
int weight(std::string_view line) {
  if (base::trim(line).empty()) return 0;
  if (any_of(line, {"unknown flag", "flag provided but not defined", "unknown shorthand",
                    "unrecognized feature gate", "invalid argument"}))
    return 6;
  if (any_of(line, {"no space left", "too many open files", "address already in use", "read-only file system",
                    "certificate has expired", "permission denied"}))
    return 5;
  if (any_of(line, {"\"level\":\"fatal\"", "\"level\":\"panic\"", "panic: "}) ||
      (line.size() > 1 && line[0] == 'F' && std::isdigit(static_cast<unsigned char>(line[1]))))
    return 4;
  if (informs(line)) return 1;
  return any_of(line, {"rror: ", "rror\":", "failed", "Failed", "cannot ", "refused", "not found", "no such"})
             ? 3
             : 2;
}

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

std::string plain_line(std::string_view line) {
  line = base::trim(line);
  std::string text;
  if (line.starts_with('{')) text = from_json(line);
  if (text.empty()) {
    line = without_header(line);
    const std::string message = facts::quoted_value(line, "msg"), error = facts::quoted_value(line, "err"),
                      other = facts::quoted_value(line, "error");
    text = !error.empty() ? error : !other.empty() ? other : !message.empty() ? message : std::string(line);
  }
  std::string_view plain = base::trim(text);
  for (const std::string_view prefix : {"Error: ", "error: "})
    if (plain.starts_with(prefix)) plain.remove_prefix(prefix.size());
  return base::printable(plain, longest);
}

std::string quoted_after(std::string_view text, std::string_view before) {
  const std::string plain = base::replace_all(std::string(text), "\\", "");
  const std::size_t at = plain.find(std::string(before) + '"');
  if (at == std::string::npos) return {};
  const std::size_t begin = at + before.size() + 1;
  return base::printable(plain.substr(begin, plain.find('"', begin) - begin), longest);
}

std::string last_clause(std::string_view text) {
  const std::string plain = base::replace_all(std::string(text), "\\", "");
  std::string_view clause = plain;
  if (const std::size_t at = clause.rfind("desc = "); at != std::string_view::npos)
    clause.remove_prefix(at + 7);
  if (const std::size_t at = clause.rfind("\": "); at != std::string_view::npos) clause.remove_prefix(at + 3);
  while (!clause.empty() && (clause.back() == '"' || clause.back() == ' ')) clause.remove_suffix(1);
  return base::printable(clause, longest);
}

std::string answer_in(std::string_view text, std::string_view image) {
  std::string clause = last_clause(text);
  if (!image.empty() && clause.starts_with(std::string(image) + ": ")) clause.erase(0, image.size() + 2);
  return clause;
}

std::string why_it_ended(const PodContainer& container) {
  if (!container.message.empty()) return last_clause(container.message);
  int best = 0;
  const std::string* found = nullptr;
  for (const std::string& line : container.log)
    if (const int worth = weight(line); worth > 0 && worth >= best) {
      best = worth;
      found = &line;
    }
  return found ? plain_line(*found) : std::string();
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
