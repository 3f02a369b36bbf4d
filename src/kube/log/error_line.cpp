#include "kube/log/error_line.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/log_line.hpp"

#include "kube/log/launcher.hpp"
#include "kube/pod/context.hpp"

#include <algorithm>
#include <array>

namespace kube::pod {

namespace {

constexpr std::size_t nothing = static_cast<std::size_t>(-1);
constexpr std::size_t searched_lines = 100;      ///< for the error
constexpr std::size_t failure_lines = 40;        ///< of one failure before its last line
constexpr std::size_t longest_gap = 4;           ///< lines of a program between two errors of one failure
constexpr std::size_t longest_summary_gap = 12;  ///< the same before a line that only sums up
constexpr std::size_t most_ordinary = 2;         ///< lines without an error among them: "cleaning up"

/// Lines that a program prints for information without a level.
bool informs(std::string_view line) {
  return line.contains("HTTP/1.1\" ") || line.contains("HTTP/1.0\" ") ||  // a server's list of requests
         mentions(line, "hostname of the client socket cannot be retrieved");
}

/// Lines that only say where more is written, or that are fields of npm's errors.
bool is_reference(std::string_view line) {
  constexpr std::string_view npm = "npm error ", old_npm = "npm ERR! ";
  const std::string_view text = base::trim(line);
  for (const std::string_view prefix : {npm, old_npm})
    if (text.starts_with(prefix))
      for (const std::string_view field : {"code ", "errno ", "syscall ", "path ", "dest ", "cwd "})
        if (text.substr(prefix.size()).starts_with(field)) return true;
  return mentions_any(line,
                      {"complete log of this run", "for more information", "with more information is saved",
                       "hs_err_pid", "for more details", "full log", "run with `rust_backtrace"});
}

/// Whether a text contains one of these words, also as the beginning of a longer one and within a name in
/// camel case
/// ("ValueError"), but not within another word ("pipefail").
bool has_word(std::string_view text, std::initializer_list<std::string_view> words) {
  const std::string lower = base::lower(text);
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return std::ranges::any_of(words, [&](std::string_view word) {
    for (std::size_t at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1))
      if (at == 0 || !is_lower(text[at - 1]) || !is_lower(text[at])) return true;
    return false;
  });
}

bool has_error_word(std::string_view line) {
  return has_word(
      line, {"what():",     "error",        "fatal",     "fail",      "panic",       "exception", "cannot",
             "can't",       "could not",    "unable",    "denied",    "refused",     "not found", "no such",
             "invalid",     "abort",        "killed",    "terminat",  "unsupported", "missing",   "timed out",
             "timeout",     "illegal",      "exceed",    "too large", "corrupt",     "mismatch",  "out of",
             "not support", "segmentation", "unexpected"});
}

/// Lines that only name the signal that ended a program: a line before says why.
bool has_no_cause(std::string_view line) {
  constexpr std::array<std::string_view, 5> beginnings = {"Fatal Python error: Aborted", "Aborted", "Killed",
                                                          "Terminated", "Segmentation fault"};
  return std::ranges::any_of(beginnings, [&](std::string_view one) {
    return line.starts_with(one) &&
           line.substr(one.size()).find_first_not_of(" (core dumped)\r") == std::string_view::npos;
  });
}

/// How much a line says about an error: 0 is nothing; one without a level counts like one with it.
int severity_of(std::string_view line) {
  if (is_reference(line)) return 0;
  switch (read_log_line(line).level) {
    case Level::fatal:
      return 3;
    case Level::error:
      return 2;
    case Level::info:
      return 0;
    case Level::warning:
      return has_error_word(line) ? 1 : 0;
    case Level::none:
      return !has_error_word(line) || informs(line) ? 0 : has_no_cause(line) ? 1 : 2;
  }
  return 0;
}

/// "+ set -euo pipefail": what `set -x` of a shell prints.
bool is_trace(std::string_view text) {
  const std::size_t end = text.find_first_not_of('+');
  return end != 0 && end != std::string_view::npos && text[end] == ' ';
}

bool has_letters(std::string_view text) {
  return std::ranges::any_of(
      text, [](unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80; });
}

bool is_rule(std::string_view text) {
  return text.size() >= 10 && (text.find_first_not_of('-') == std::string_view::npos ||
                               text.find_first_not_of('=') == std::string_view::npos);
}

/// Lines with which a runtime of a language begins to describe a crash; what follows is a dump.
bool begins_crash(std::string_view line) {
  constexpr std::array<std::string_view, 8> beginnings = {
      "Fatal Python error",  "panic: ",  "fatal error: ",       "terminate called",
      "Exception in thread", "thread '", "Unhandled exception", "FATAL"};
  return std::ranges::any_of(beginnings, [&](std::string_view one) { return line.starts_with(one); });
}

/// The last line that `wanted` accepts; nothing: none does.
template <typename Wanted>
std::size_t last_that(std::span<const std::string> log, Wanted&& wanted) {
  const std::size_t least = log.size() > searched_lines ? log.size() - searched_lines : 0;
  for (std::size_t i = log.size(); i-- > least;)
    if (wanted(i)) return i;
  return nothing;
}

/// Appends what the first line of a message only introduces, the cause that programs in Rust print below it,
/// and the words of C++ for what was thrown.
void add_continuation(std::span<const std::string> log, LastError& error) {
  const auto next = [&](std::size_t at) {
    return at < log.size() ? base::trim(log[at]) : std::string_view();
  };
  const auto add = [&](std::size_t at) {
    error.text += " " + std::string(next(at));
    error.end = at + 1;
  };
  std::size_t at = error.end;
  if (error.text.starts_with("terminate called")) {
    if (next(at).starts_with("what():")) add(at);
    return;
  }
  while (at < error.end + 2 && at < log.size() && next(at).empty()) ++at;
  const bool has_cause = next(at).starts_with("Caused by");
  if (has_cause) add(at++);
  const std::string_view name = exception_name(next(at));
  const bool is_thrown = at == error.end && (name.ends_with("Error") || name.ends_with("Exception"));
  if ((has_cause || is_thrown || error.text.ends_with(':')) && has_letters(next(at))) add(at);
}

}  // namespace

bool is_summary(std::string_view text) {
  constexpr std::size_t most_words = 5;  ///< after the phrase; a reason follows a colon
  const std::string lower = base::lower(text);
  // "extract failed", "FAILED: fused.cuda.o"
  if (base::words(lower).size() <= 3 && (lower.ends_with("failed") || lower.starts_with("failed: ")))
    return true;
  for (const std::string_view phrase :
       {"exiting", "failed to load", "unable to load", "cannot load", "could not load", "failed to start",
        "failed to initialize", "failed to create", "failed to launch", "giving up", "shutting down",
        "cannot continue", "startup failed", "initialization failed", "aborting", "build stopped",
        "subcommand failed", "previous error", "cannotstart"}) {
    const std::size_t at = lower.rfind(phrase);
    if (at == std::string::npos) continue;
    const std::string_view rest = std::string_view(lower).substr(at + phrase.size());
    if (!rest.contains(':') && base::words(rest).size() <= most_words) return true;
  }
  return false;
}

bool is_about_error(std::string_view line) {
  return severity_of(line) > 0;
}

bool is_ordinary(std::string_view line, Writer writer) {
  return writer == Writer::program && !is_about_error(line) && read_log_line(line).level == Level::none &&
         !informs(line);
}

std::vector<Writer> writers_of(std::span<const std::string> log) {
  constexpr std::size_t tallest = 40;
  std::vector<Writer> writers(log.size(), Writer::none);
  for (std::size_t i = 0; i < log.size(); ++i) {
    const std::string_view text = base::trim(log[i]);
    const bool is_indented = !log[i].empty() && (log[i].front() == ' ' || log[i].front() == '\t');
    if (has_letters(text) && (!is_indented || text.starts_with("what():")) && !text.starts_with('|') &&
        !is_of_torchrun(text) && !is_trace(text))
      writers[i] = Writer::program;
  }
  for (std::size_t end = log.size(); end-- > 0;) {
    const std::string_view rule = base::trim(log[end]);
    if (!is_rule(rule)) continue;
    for (std::size_t begin = end; begin-- > 0 && end - begin <= tallest;) {
      const std::string_view text = base::trim(log[begin]);
      if (!is_rule(text) || text[0] != rule[0]) continue;
      // torchrun's frame only repeats which process failed.
      const auto lines = log.subspan(begin, end - begin);
      const bool repeats =
          std::ranges::any_of(lines, [](const std::string& one) { return one.contains("Root Cause ("); });
      for (std::size_t i = begin; i < end; ++i)
        if (writers[i] == Writer::program) writers[i] = repeats ? Writer::none : Writer::launcher;
      end = begin;
      break;
    }
  }
  return writers;
}

std::size_t begin_of_failure(std::span<const std::string> log, std::size_t end, std::size_t most_info) {
  const std::vector<Writer> writers = writers_of(log);
  std::size_t begin = end;
  std::size_t info = 0;
  while (begin > 0 && end - begin < failure_lines) {
    const std::string& line = log[begin - 1];
    if (is_ordinary(line, writers[begin - 1])) break;
    if (writers[begin - 1] == Writer::program && read_log_line(line).level == Level::info &&
        ++info > most_info)
      break;
    --begin;
  }
  return begin;
}

LastError error_line(std::span<const std::string> log, const std::vector<Exception>& exceptions,
                     std::size_t begin) {
  std::vector<Writer> writers = writers_of(log);
  std::fill_n(writers.begin(), begin, Writer::none);
  for (const Exception& one : exceptions)
    if (is_of_launcher(one))
      for (std::size_t i = one.first; i <= one.last; ++i) writers[i] = Writer::none;
  const auto is_own = [&](std::size_t i) { return writers[i] == Writer::program; };
  const auto crashes = [&](std::size_t i) { return is_own(i) && begins_crash(log[i]); };
  std::size_t at = last_that(log, crashes);
  // Of several runtimes that ended, the first said why.
  if (at != nothing && has_no_cause(log[at])) {
    std::size_t before = last_that(log.first(at), crashes);
    if (before == nothing)
      before = last_that(log.first(at), [&](std::size_t i) {
        return is_own(i) && at - i <= longest_gap && severity_of(log[i]) > 1;
      });
    if (before != nothing) at = before;
  }
  const bool is_crash = at != nothing;
  std::size_t last = nothing;  ///< of the records about the same failure
  int highest = 0;
  if (!is_crash) {
    const auto severity = [&](std::size_t i) { return is_own(i) ? severity_of(log[i]) : 0; };
    last_that(log, [&](std::size_t i) { return highest = std::max(highest, severity(i)), false; });
    if (highest > 0) at = last_that(log, [&](std::size_t i) { return severity(i) == highest; });
    // Of the records about one failure the first says why.
    std::size_t first = last = at;
    std::size_t gap = 0;
    const bool is_summed_up = at != nothing && is_summary(read_log_line(log[at]).text);
    bool has_level = is_summed_up;
    const std::size_t most_gap = has_level ? longest_summary_gap : longest_gap;
    std::size_t ordinary = has_level ? 0 : most_ordinary;
    for (std::size_t i = at; at != nothing && i < log.size() && gap <= most_gap; --i) {
      if (is_ordinary(log[i], writers[i]) && ++ordinary > most_ordinary) break;
      if (is_own(i)) ++gap;
      // What only sums up has no reason, whatever its level.
      if (is_summed_up ? severity(i) < 2 || is_summary(read_log_line(log[i]).text) : severity(i) != highest)
        continue;
      first = i;
      gap = 0;
      has_level = has_level || read_log_line(log[i]).level != Level::none;
    }
    if (has_level) at = first;
  }
  if (at == nothing)
    at = last_that(log,
                   [&](std::size_t i) { return writers[i] == Writer::launcher && is_about_error(log[i]); });
  if (at == nothing) at = last_that(log, is_own);
  if (at == nothing) at = last_that(log, [&](std::size_t i) { return !base::trim(log[i]).empty(); });
  LastError error;
  if (at == nothing) return error;
  error.text = read_log_line(log[at]).text;
  error.end = at + 1;
  add_continuation(log, error);
  error.begin = begin_of_failure(log, at, longest_gap);
  error.past = error.end;
  while (error.past < log.size() && error.past < at + failure_lines && writers[error.past] == Writer::none)
    ++error.past;
  error.message = error.text;
  for (std::size_t i = at + 1; last != nothing && i <= last; ++i)
    if (is_own(i) && is_about_error(log[i])) error.message += "\n" + read_log_line(log[i]).text;
  if (last != nothing) error.past = std::max(error.past, last + 1);
  std::size_t first = at;
  while (first > 0 && is_own(first - 1) && is_about_error(log[first - 1])) --first;
  if (first < at) error.previous = read_log_line(log[first]).text;
  // A program that cannot be compiled has no traceback, and Python names the place before the error.
  std::vector<Frame> frames;
  for (std::size_t i = at; i-- > 0 && at - i < 5;)
    if (auto frame = frame_in(log[i]); !frame.file.empty()) frames.push_back(std::move(frame));
  error.origin = own_frame(frames);
  return error;
}

}  // namespace kube::pod
