#include "gpuadm/facts/pods.hpp"

#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/tree/tree.hpp"

#include <algorithm>

namespace facts {

namespace {

/// Minimum uptime in seconds of a kubelet that has not just crashed. systemd restarts it after 10 s.
constexpr double settled = 60;

/// The text between two strings; empty if either is missing.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + before.size());
  const std::size_t end = text.find(after);
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

std::string without_backslashes(std::string_view text) {
  return base::replace_all(std::string(text), "\\", "");
}

/// failed to "StartContainer" for "etcd" with CrashLoopBackOff: "back-off 40s restarting …"
PodError error_in(std::string_view err, std::string pod) {
  PodError error{.pod = std::move(pod), .container = {}, .operation = {}, .reason = {}, .message = {}};
  error.operation = between(err, "failed to \"", "\"");
  const std::string_view what = between(err, "\" for \"", "\"");
  if (error.operation == "StartContainer") error.container = what;
  error.reason = between(err, "\" with ", ":");
  const std::size_t message = err.find(": \"");
  error.message = without_backslashes(message == std::string_view::npos ? err : err.substr(message + 3));
  if (error.message.ends_with('"')) error.message.pop_back();
  if (error.message.ends_with("\"]")) error.message.resize(error.message.size() - 2);
  return error;
}

/// "kube-system/etcd-one" of `etcd-one_kube-system(0a1b…)`, the notation of kubelets before 1.21.
std::string old_name(std::string_view line) {
  const std::string_view name = between(line, "(\"", "(");
  const std::size_t ns = name.rfind('_');
  if (ns == std::string_view::npos) return {};
  return std::string(name.substr(ns + 1)) + "/" + std::string(name.substr(0, ns));
}

/// The UID of a line's pod: podUID="…", or the text after the name in parentheses.
std::string uid_in(std::string_view line) {
  const std::string uid = quoted_value(line, "podUID");
  return uid.empty() ? std::string(between(line.substr(std::min(line.size(), line.find("(\""))), "_", ")"))
                     : uid;
}

void read_error(std::string_view line, const Section* folders, std::vector<PodError>& errors) {
  // Messages of a kubelet before it was stopped are outdated.
  if (line.find("Main process exited") != std::string_view::npos || line.starts_with("Stopped kubelet"))
    return errors.clear();
  if (line.find("Error syncing pod") == std::string_view::npos) return;
  // A deleted pod has no directory any more.
  std::string uid = uid_in(line);
  if (const std::size_t at = uid.rfind('('); at != std::string::npos) uid.erase(0, at + 1);
  if (folders && !uid.empty() && std::ranges::find(folders->lines, uid) == folders->lines.end()) return;
  const std::string pod = quoted_value(line, "pod");
  const std::string_view before = "), skipping: ";
  const std::size_t old = line.find(before);
  PodError error = !pod.empty() ? error_in(quoted_value(line, "err"), pod)
                   : old != std::string_view::npos
                       ? error_in(line.substr(old + before.size()), old_name(line))
                       : PodError{};
  if (error.pod.empty()) return;
  const auto same = std::ranges::find_if(errors, [&](const PodError& other) {
    return other.pod == error.pod && other.container == error.container;
  });
  if (same != errors.end()) {
    // Older kubelets log why an image cannot be pulled only when they try, and not during the back-off.
    if (error.message.starts_with("Back-off") && !same->message.starts_with("Back-off")) return;
    errors.erase(same);
  }
  errors.push_back(std::move(error));
}

void read_containers(const Sections& sections, PodStates& states) {
  for (const std::string_view line : sections.lines("pod-containers")) {
    if (line.starts_with("source ")) states.source = line.substr(7);
    const auto cells = base::split(line, '\t');
    if (cells.size() < 6) continue;
    PodContainer container{.ns = std::string(cells[1]),
                           .pod = std::string(cells[2]),
                           .name = std::string(cells[3]),
                           .attempt = static_cast<int>(base::to_int(cells[4]).value_or(0)),
                           .state = std::string(cells[5]),
                           .exit_code = {},
                           .reason = {},
                           .message = {},
                           .log = {}};
    if (cells.size() > 6)
      if (const auto code = base::to_int(cells[6])) container.exit_code = static_cast<int>(*code);
    if (cells.size() > 7 && cells[7] != "-") container.reason = cells[7];
    if (cells.size() > 8) container.message = without_backslashes(cells[8]);
    const std::string log = "container-log/" + container.full() + "/" + container.name;
    for (const std::string_view text : sections.lines(log)) container.log.emplace_back(text);
    states.containers.push_back(std::move(container));
  }
}

/// Whether it is the last line of a kubelet: klog's level F, an error of its command line, or its command's.
bool ends_kubelet(std::string_view line) {
  constexpr std::array<std::string_view, 5> endings = {
      "unknown flag", "unknown shorthand", "\"command failed\"", "failed to run Kubelet", "panic: "};
  return (line.size() > 1 && line[0] == 'F' && line[1] >= '0' && line[1] <= '9') ||
         std::ranges::any_of(endings, [&](std::string_view one) { return line.contains(one); });
}

/// How the kubelet ended, if it is not running or restarts repeatedly: the last line before systemd's own. Of
/// repeated messages the section has only the newest, and the journal may have systemd's line first: a line
/// after systemd's counts if it ends a kubelet, or if it is the only one.
std::string fatal_line(const Sections& sections, const Kernel& kernel) {
  const auto state = [&](std::string_view key) -> std::string {
    for (const std::string_view line : sections.lines("kubelet-state"))
      if (line.starts_with(std::string(key) + "=")) return std::string(line.substr(key.size() + 1));
    return {};
  };
  std::string last, ended, ended_since;
  int ends = 0;
  for (const std::string_view line : sections.lines("kubelet-errors")) {
    if (line.find("Main process exited") != std::string_view::npos) {
      if (!last.empty()) ended = last;
      ended_since.clear();
      ++ends;
    } else if (line.find("Error syncing pod") == std::string_view::npos &&
               !line.starts_with("Stopped kubelet")) {
      last = line;
      if (ends_kubelet(line)) ended_since = line;
    }
  }
  if (!ended_since.empty())
    ended = ended_since;
  else if (ended.empty())
    ended = last;
  const bool active = state("ActiveState") == "active";
  const double entered =
      static_cast<double>(base::to_int(state("ActiveEnterTimestampMonotonic")).value_or(0)) / 1e6;
  const bool crashes = active && ends > 0 && kernel.uptime && *kernel.uptime - entered < settled &&
                       base::to_int(state("NRestarts")).value_or(0) > 0;
  const bool down = !active && (state("ActiveState") != "inactive" || state("Result") != "success");
  return down || crashes ? ended : std::string();
}

}  // namespace

std::string quoted_value(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(std::string(key) + "=\"");
  if (at == std::string_view::npos) return {};
  std::string text;
  for (std::size_t i = at + key.size() + 2; i < line.size() && line[i] != '"'; ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) ++i;
    text += line[i] == 'n' && line[i - 1] == '\\' ? ' ' : line[i];
  }
  return text;
}

void read_pod_states(const Sections& sections, Facts& facts) {
  if (!sections.find("pod-containers")) return;
  PodStates& states = facts.kubernetes.pod_states.emplace();
  read_containers(sections, states);
  for (const std::string_view line : sections.lines("kubelet-errors")) {
    states.kubelet_log.emplace_back(line);
    read_error(line, sections.find("kubelet-pods"), states.errors);
  }
  sections.each("runtime-errors/", "", [&](const std::string&, const Section& section) {
    for (const std::string_view line : section.lines) states.runtime_log.emplace_back(line);
  });
  // The directories are read whenever the journal should have been. A truncated journal has no status.
  const Section* journal = sections.find("kubelet-errors");
  states.kubelet_unread = sections.find("kubelet-pods") && (!journal || journal->status.value_or(0) != 0);
  states.kubelet_fatal = fatal_line(sections, facts.kernel);
  for (const std::string_view line : sections.lines("inotify")) {
    if (line.starts_with("refused ")) states.inotify_refused = true;
    if (line.starts_with("instances "))
      if (const auto count = base::to_int(base::trim(line.substr(10))))
        states.inotify_instances = static_cast<int>(*count);
  }
}

namespace {

Tree pod_container(const PodContainer& one) {
  return Tree::map_of({{"namespace", one.ns},
                       {"pod", one.pod},
                       {"name", one.name},
                       {"attempt", one.attempt},
                       {"state", one.state},
                       {"exitCode", tree_of(one.exit_code)},
                       {"reason", one.reason},
                       {"message", one.message},
                       {"log", Tree::list_of(one.log)}});
}

Tree pod_error(const PodError& one) {
  return Tree::map_of({{"pod", one.pod},
                       {"container", one.container},
                       {"operation", one.operation},
                       {"reason", one.reason},
                       {"message", one.message}});
}

}  // namespace

Tree pod_states_tree(const PodStates& states) {
  return Tree::map_of({{"source", states.source},
                       {"containers", list_of(states.containers, pod_container)},
                       {"errors", list_of(states.errors, pod_error)},
                       {"kubeletUnread", states.kubelet_unread},
                       {"kubeletFatal", states.kubelet_fatal},
                       {"kubeletLog", Tree::list_of(states.kubelet_log)},
                       {"runtimeLog", Tree::list_of(states.runtime_log)},
                       {"inotifyRefused", states.inotify_refused},
                       {"inotifyInstances", tree_of(states.inotify_instances)}});
}

}  // namespace facts
