#include "kube/log/launcher.hpp"

#include "gpuadm/base/text.hpp"

#include "kube/pod/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace kube::pod {

namespace {

/// The number at the beginning of a text after blanks, colons and equal signs; negative ones, too.
std::string number_after(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t:=");
  if (begin == std::string_view::npos) return {};
  std::size_t end = begin + (text[begin] == '-' ? 1 : 0);
  while (end < text.size() && text[end] >= '0' && text[end] <= '9' && end - begin < 8) ++end;
  return std::string(text.substr(begin, end - begin));
}

/// Signals that end a program that fails; -1 is also an exit code of programs.
bool ends_programs(long long signal) {
  constexpr std::array<long long, 7> signals = {4, 6, 7, 8, 9, 11, 15};
  return std::ranges::find(signals, signal) != signals.end();
}

/// The signal of "exitcode: -9", "return code = -9" or "died with <Signals.SIGKILL: 9>"; 0: none.
int signal_in(std::string_view line) {
  for (const std::string_view word : {"exitcode", "return code", "returncode", "exit code"}) {
    const std::size_t at = line.find(word);
    if (at == std::string_view::npos) continue;
    const auto code = base::to_int(number_after(line.substr(at + word.size())));
    if (code && ends_programs(-*code)) return static_cast<int>(-*code);
  }
  constexpr std::string_view died = "died with <Signals.";
  if (const std::size_t at = line.find(died); at != std::string_view::npos)
    if (const std::size_t colon = line.find(':', at); colon != std::string_view::npos)
      if (const auto code = base::to_int(number_after(line.substr(colon))); code && ends_programs(*code))
        return static_cast<int>(*code);
  return 0;
}

}  // namespace

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_of_launcher(const Exception& one) {
  constexpr std::array<std::string_view, 7> names = {
      "ChildFailedError", "CalledProcessError", "ProcessExitedException", "BrokenProcessPool",
      "EngineDeadError",  "SystemExit",         "KeyboardInterrupt"};
  return is_one_of(one.name, names) ||
         mentions_any(one.text, {"root cause", "see stack trace", "see above", "background process"});
}

bool is_of_lost_peer(const Exception& one) {
  return one.name == "DistBackendError" || one.name == "DistNetworkError" ||
         mentions_any(one.text, {"connection reset by peer", "broken pipe", "connection closed by",
                                 "remote process exited", "rendezvous"});
}

bool points_above(std::string_view message) {
  return mentions_any(message, {"errors above", "error above", "see above", "logs above", "log above",
                                "errors logged above"});
}

bool is_of_program(const Exception& one) {
  return mentions_any(one.message, {"returned non-zero exit status", "error building extension"});
}

bool is_consequence(const Exception& one) {
  const bool is_empty = base::trim(one.text).size() <= one.name.size() + 1;
  return is_empty || is_of_launcher(one) || is_of_lost_peer(one) || one.name.starts_with("Engine") ||
         one.name.starts_with("Actor") || one.name.starts_with("Worker") || points_above(one.message) ||
         is_of_program(one) ||
         mentions_any(one.text,
                      {"nccl", "exited unexpectedly", "died unexpectedly", "unexpectedly terminated",
                       "failed to start", "initialization failed", "is killed by signal",
                       "terminated abruptly", "worker failed", "cuda error: unspecified"});
}

/// "process rank 3 with PID 0 on node trainer-1 exited on signal 9 (Killed)" of mpirun.
void read_mpirun(std::string_view line, FirstFailure& found) {
  constexpr std::string_view rank = "process rank ", node = " on node ", signal = "exited on signal ";
  const std::size_t at = line.find(rank), host = line.find(node), end = line.find(signal);
  if (at == std::string_view::npos || host == std::string_view::npos || end == std::string_view::npos ||
      host < at || end < host)
    return;
  found.rank = number_after(line.substr(at + rank.size()));
  found.host = std::string(base::trim(line.substr(host + node.size(), end - host - node.size())));
  found.signal = static_cast<int>(base::to_int(number_after(line.substr(end + signal.size()))).value_or(0));
}

FirstFailure first_failure(std::span<const std::string> log) {
  FirstFailure found;
  bool is_root = false;
  for (const std::string& line : log) {
    // "rank      : 1 (local_rank: 1)" after "Root Cause (first observed failure):"
    const std::string_view text = base::trim(line);
    if (text.contains("Root Cause")) is_root = true;
    if (is_root && text.starts_with("rank")) found.rank = number_after(text.substr(4));
    // Of the other processes the launcher says how it ended them itself.
    if (is_root && text.starts_with("exitcode")) {
      found.signal = signal_in(text);
      return found;
    }
    if (found.signal == 0 && !is_root) found.signal = signal_in(text);
    if (found.host.empty()) read_mpirun(text, found);
    // "Process name: [[27812,1],1]" after "The first process to do so was:"
    if (const std::size_t at = text.find("Process name: [["); at != std::string_view::npos)
      if (const std::size_t comma = text.rfind(','); comma != std::string_view::npos && comma > at)
        found.rank = number_after(text.substr(comma + 1));
  }
  return found;
}

bool has_rank(std::string_view process, std::string_view rank) {
  if (rank.empty()) return false;
  return process.contains(fmt::format("rank{}]", rank)) ||
         process.contains(fmt::format("default{}]", rank)) || process.contains(fmt::format(",{}]", rank));
}

bool is_of_torchrun(std::string_view line) {
  return line.contains("ChildFailedError") ||
         (line.contains("torch/distributed/elastic/") && !line.contains("(exitcode: -"));
}

}  // namespace kube::pod
