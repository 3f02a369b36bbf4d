#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/kubelet/reasons.hpp"
#include "checks/last_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace checks {

namespace {

using facts::PodContainer;
using facts::PodError;
using facts::PodStates;

constexpr std::size_t longest = 300;
constexpr int killed = 137;  ///< exit status: 128 + SIGKILL

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

/// `"msg":"…","error":"…"` of a JSON line as "msg: error". A line without an error says it in another key
/// ("alarm", "reason", "output").
std::string from_json(std::string_view line) {
  const auto tree = base::json::read(std::string(line), "log");
  if (!tree || !tree->is_map()) return {};
  std::string text;
  for (const char* key : {"msg", "message", "error", "err"})
    if (const base::Tree* value = tree->find(key); value && !value->text().empty())
      text += (text.empty() ? "" : ": ") + value->text();
  if (tree->find("error") || tree->find("err")) return text;
  constexpr std::string_view others[] = {"msg",  "message",   "level",  "severity", "ts",
                                         "time", "timestamp", "caller", "logger"};
  for (const auto& [key, value] : tree->entries())
    if (value.as_string() && std::ranges::find(others, key) == std::end(others) && !value.text().empty())
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, value.text());
  return text;
}

/// Of a wrapped error the cause is at the end, and what failed at the beginning: both are kept.
std::string shortened(std::string_view text) {
  constexpr std::size_t at_the_beginning = 100, longest_word = 40;
  if (text.size() <= longest) return base::printable(text, longest);
  // At blanks, so that no word and no character is cut; a text without blanks has neither.
  std::string_view begin = text.substr(0, at_the_beginning),
                   end = text.substr(text.size() - (longest - at_the_beginning));
  if (const std::size_t blank = begin.rfind(' '); blank != begin.npos && begin.size() - blank < longest_word)
    begin = begin.substr(0, blank);
  if (const std::size_t blank = end.find(' '); blank < longest_word) end.remove_prefix(blank);
  return base::printable(begin) + " …" + base::printable(end);
}

/// klog's `E1124 16:35:40.123456    4711 pod_workers.go:191] `.
std::string_view without_header(std::string_view line) {
  if (line.size() < 6 || !std::isupper(static_cast<unsigned char>(line[0])) ||
      !std::isdigit(static_cast<unsigned char>(line[1])))
    return line;
  const std::size_t end = line.find("] ");
  return end == std::string_view::npos || end > 120 ? line : line.substr(end + 2);
}

/// Where the clause after the quotation mark at `at` begins. What is quoted is the subject of the error
/// before it (`pull image "NAME": not found`), or the error's own: `exec: "PROGRAM": executable file not
/// found`.
std::size_t begin_of_clause(std::string_view text, std::size_t at) {
  const std::size_t quote = text.rfind('"', at - (at > 0 ? 1 : 0));
  constexpr std::string_view own = "exec: ";
  if (at > 0 && quote != std::string_view::npos && quote >= own.size() &&
      text.substr(quote - own.size(), own.size()) == own)
    return quote - own.size();
  return at + 3;
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
  return shortened(plain);
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
  if (const std::size_t at = clause.rfind("\": "); at != std::string_view::npos)
    clause.remove_prefix(begin_of_clause(clause, at));
  while (!clause.empty() && (clause.back() == '"' || clause.back() == ' ')) clause.remove_suffix(1);
  return shortened(clause);
}

std::string answer_in(std::string_view text, std::string_view image) {
  std::string clause = last_clause(text);
  if (!image.empty() && clause.starts_with(std::string(image) + ": ")) clause.erase(0, image.size() + 2);
  return clause;
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
