#include "gpuadm/kube/last_error.hpp"

#include "gpuadm/base/text.hpp"

#include "kube/pod/context.hpp"
#include "kube/pod/traceback.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <vector>

namespace kube {

namespace {

using pod::Exception;
using pod::mentions_any;

constexpr std::size_t longest = 1000, searched_lines = 100;
constexpr std::size_t nothing = static_cast<std::size_t>(-1);

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

/// Exceptions of a program that started another one, which failed.
bool is_of_launcher(const Exception& one) {
  constexpr std::array<std::string_view, 7> names = {
      "ChildFailedError", "CalledProcessError", "ProcessExitedException", "BrokenProcessPool",
      "EngineDeadError",  "SystemExit",         "KeyboardInterrupt"};
  return is_one_of(one.name, names) ||
         mentions_any(one.text, {"root cause", "see stack trace", "see above", "background process"});
}

/// What the other processes of a job report when one of them has ended.
bool is_of_lost_peer(const Exception& one) {
  return one.name == "DistBackendError" || one.name == "DistNetworkError" ||
         mentions_any(one.text, {"connection reset by peer", "broken pipe", "connection closed by",
                                 "remote process exited", "rendezvous"});
}

/// Exceptions that say what is wrong with a program, its input or its packages.
bool is_own_error(const Exception& one) {
  constexpr std::array<std::string_view, 20> names = {
      "ValueError",        "TypeError",         "KeyError",           "IndexError",
      "AttributeError",    "NameError",         "ImportError",        "ModuleNotFoundError",
      "SyntaxError",       "IndentationError",  "FileNotFoundError",  "NotImplementedError",
      "ZeroDivisionError", "UnboundLocalError", "JSONDecodeError",    "UnicodeDecodeError",
      "OverflowError",     "RecursionError",    "NotADirectoryError", "ValidationError"};
  return is_one_of(one.name, names);
}

/// torchrun and mpirun name the process that failed first.
struct FirstFailure {
  std::string rank;
  int signal = 0;
};

/// The number at the beginning of a text after blanks, colons and equal signs; negative ones, too.
std::string number_after(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t:=");
  if (begin == std::string_view::npos) return {};
  std::size_t end = begin + (text[begin] == '-' ? 1 : 0);
  while (end < text.size() && text[end] >= '0' && text[end] <= '9' && end - begin < 8) ++end;
  return std::string(text.substr(begin, end - begin));
}

FirstFailure first_failure(std::span<const std::string> log) {
  FirstFailure found;
  bool is_root = false;
  for (const std::string& line : log) {
    // "rank      : 1 (local_rank: 1)" and "exitcode  : -9 (pid: 18)" after "Root Cause (first observed
    // failure):"
    const std::string_view text = base::trim(line);
    if (text.contains("Root Cause")) is_root = true;
    if (is_root && text.starts_with("rank")) found.rank = number_after(text.substr(4));
    if (const std::size_t at = text.find("exitcode"); at != std::string_view::npos && found.signal == 0)
      if (const auto code = base::to_int(number_after(text.substr(at + 8))); code && *code < 0 && *code > -65)
        found.signal = static_cast<int>(-*code);
    // "Process name: [[27812,1],1]" after "The first process to do so was:"
    if (const std::size_t at = text.find("Process name: [["); at != std::string_view::npos)
      if (const std::size_t comma = text.rfind(','); comma != std::string_view::npos && comma > at)
        found.rank = number_after(text.substr(comma + 1));
  }
  return found;
}

/// Whether a process, as its lines begin, has this rank: "[rank1]:", "[default1]:", "[1,1]<stderr>:".
bool has_rank(std::string_view process, std::string_view rank) {
  if (rank.empty()) return false;
  return process.contains(fmt::format("rank{}]", rank)) ||
         process.contains(fmt::format("default{}]", rank)) || process.contains(fmt::format(",{}]", rank));
}

/// The exception that explains the end of the program; nothing: there is none.
const Exception* choose(const std::vector<Exception>& all, const FirstFailure& first) {
  std::vector<const Exception*> left;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_cause = i + 1 < all.size() && all[i + 1].has_cause && !is_of_launcher(all[i + 1]);
    if (!is_cause) left.push_back(&all[i]);
  }
  const auto keep = [&](auto&& wanted) {
    if (std::ranges::any_of(left, wanted))
      std::erase_if(left, [&](const Exception* one) { return !wanted(one); });
  };
  keep([](const Exception* one) { return !is_of_launcher(*one); });
  keep([](const Exception* one) { return !is_of_lost_peer(*one); });
  keep([&](const Exception* one) { return has_rank(one->process, first.rank); });
  if (left.empty()) return nullptr;
  const bool has_several =
      std::ranges::any_of(left, [&](const Exception* one) { return one->process != left.front()->process; });
  const bool has_launcher = !first.rank.empty() || std::ranges::any_of(all, [](const Exception& one) {
    return one.name == "ChildFailedError";
  });
  // Of several processes the first one; of one that logs exceptions and continues, the last one.
  return has_several || (has_launcher && !has_rank(left.front()->process, first.rank)) ? left.front()
                                                                                       : left.back();
}

/// Lines that a program prints for information.
bool informs(std::string_view line) {
  return mentions_any(line, {" info ", "info:", "[info]", "debug:", "[debug]", " debug ", "level=info",
                             "note:", "nccl info"});
}

bool is_about_error(std::string_view line) {
  return !informs(line) &&
         mentions_any(line,
                      {"what():",     "error",   "fatal",     "fail",    "panic",       "exception",
                       "cannot",      "can't",   "could not", "unable",  "denied",      "refused",
                       "not found",   "no such", "invalid",   "abort",   "killed",      "terminat",
                       "unsupported", "missing", "timed out", "timeout", "illegal",     "exceed",
                       "too large",   "corrupt", "mismatch",  "out of",  "not support", "segmentation"});
}

bool has_letters(std::string_view text) {
  return std::ranges::any_of(
      text, [](unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80; });
}

bool is_rule(std::string_view text) {
  return text.size() >= 10 && (text.find_first_not_of('-') == std::string_view::npos ||
                               text.find_first_not_of('=') == std::string_view::npos);
}

/// Which lines can be a program's own words: not frames of a stack, not what a launcher prints between rules.
std::vector<bool> own_lines(std::span<const std::string> log) {
  constexpr std::size_t tallest = 40;
  std::vector<bool> own(log.size(), false);
  for (std::size_t i = 0; i < log.size(); ++i) {
    const std::string_view text = base::trim(log[i]);
    const bool is_indented = !log[i].empty() && (log[i].front() == ' ' || log[i].front() == '\t');
    own[i] = has_letters(text) && (!is_indented || text.starts_with("what():")) &&
             !text.contains("<NO_OTHER_FAILURES>");
  }
  for (std::size_t end = log.size(); end-- > 0;) {
    const std::string_view rule = base::trim(log[end]);
    if (!is_rule(rule)) continue;
    for (std::size_t begin = end; begin-- > 0 && end - begin <= tallest;)
      if (const std::string_view text = base::trim(log[begin]); is_rule(text) && text[0] == rule[0]) {
        std::fill(own.begin() + static_cast<std::ptrdiff_t>(begin),
                  own.begin() + static_cast<std::ptrdiff_t>(end), false);
        end = begin;
        break;
      }
  }
  return own;
}

/// The last line that `wanted` accepts; nothing: none does.
template <typename Wanted>
std::size_t last_that(std::span<const std::string> log, Wanted&& wanted) {
  const std::size_t least = log.size() > searched_lines ? log.size() - searched_lines : 0;
  for (std::size_t i = log.size(); i-- > least;)
    if (wanted(i)) return i;
  return nothing;
}

LastError from_line(std::span<const std::string> log, const std::vector<Exception>& exceptions) {
  std::vector<bool> own = own_lines(log);
  for (const Exception& one : exceptions)
    if (is_of_launcher(one))
      for (std::size_t i = one.first; i <= one.last; ++i) own[i] = false;
  std::size_t at = last_that(log, [&](std::size_t i) { return own[i] && is_about_error(log[i]); });
  if (at == nothing)
    at = last_that(log, [&](std::size_t i) { return has_letters(log[i]) && is_about_error(log[i]); });
  if (at == nothing) at = last_that(log, [&](std::size_t i) { return static_cast<bool>(own[i]); });
  if (at == nothing) at = last_that(log, [&](std::size_t i) { return !base::trim(log[i]).empty(); });
  LastError error;
  if (at == nothing) return error;
  error.text = std::string(base::trim(log[at]));
  error.end = at + 1;
  // A message that its first line only introduces, and the word of C++ for what was thrown.
  if (error.text.ends_with(':') && at + 1 < log.size() && has_letters(log[at + 1]))
    error.text += " " + std::string(base::trim(log[at + 1])), ++error.end;
  if (error.text.starts_with("what():") && at > 0)
    error.text = std::string(base::trim(log[at - 1])) + " " + error.text;
  std::size_t first = at;
  while (first > 0 && own[first - 1] && is_about_error(log[first - 1])) --first;
  if (first < at) error.previous = std::string(base::trim(log[first]));
  // A program that cannot be compiled has no traceback, and Python names the place before the error.
  std::vector<pod::Frame> frames;
  for (std::size_t i = at; i-- > 0 && at - i < 5;)
    if (auto frame = pod::frame_in(log[i]); !frame.file.empty()) frames.push_back(std::move(frame));
  error.origin = pod::own_frame(frames);
  return error;
}

void shorten(LastError& error) {
  for (std::string* text : {&error.text, &error.origin, &error.previous})
    *text = base::printable(*text, longest);
}

}  // namespace

LastError last_error(std::span<const std::string> log) {
  const FirstFailure first = first_failure(log);
  const std::vector<Exception> all = pod::exceptions_in(log);
  const Exception* chosen = choose(all, first);
  // A process that a signal ended has no exception; those are then of the launcher and of other processes.
  const bool is_explained =
      chosen && !is_of_launcher(*chosen) && !(first.signal > 0 && is_of_lost_peer(*chosen));
  LastError error;
  if (!is_explained && (!chosen || first.signal > 0)) {
    error = from_line(log, all);
  } else {
    error.text = chosen->text;
    error.end = chosen->last + 1;
    error.is_own = is_own_error(*chosen);
    error.origin = pod::own_frame(chosen->frames);
    if (chosen->has_cause && chosen > &all.front()) error.previous = std::prev(chosen)->text;
  }
  error.rank = first.rank;
  error.signal = is_explained ? 0 : first.signal;
  shorten(error);
  return error;
}

}  // namespace kube
