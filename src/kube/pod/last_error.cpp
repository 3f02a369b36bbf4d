#include "gpuadm/kube/last_error.hpp"

#include "gpuadm/base/text.hpp"

#include "kube/pod/context.hpp"
#include "kube/pod/launcher.hpp"

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

/// Exceptions that say what is wrong with a program, its input or its packages.
bool is_own_error(const Exception& one) {
  constexpr std::array<std::string_view, 20> names = {
      "ValueError",        "TypeError",         "KeyError",           "IndexError",
      "AttributeError",    "NameError",         "ImportError",        "ModuleNotFoundError",
      "SyntaxError",       "IndentationError",  "FileNotFoundError",  "NotImplementedError",
      "ZeroDivisionError", "UnboundLocalError", "JSONDecodeError",    "UnicodeDecodeError",
      "OverflowError",     "RecursionError",    "NotADirectoryError", "ValidationError"};
  return pod::is_one_of(one.name, names);
}

/// The exception that explains the end of the program; nothing: there is none.
const Exception* choose(const std::vector<Exception>& all, const pod::FirstFailure& first) {
  std::vector<const Exception*> left;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_cause = i + 1 < all.size() && all[i + 1].has_cause && !pod::is_of_launcher(all[i + 1]);
    if (!is_cause) left.push_back(&all[i]);
  }
  const auto keep = [&](auto&& wanted) {
    if (std::ranges::any_of(left, wanted))
      std::erase_if(left, [&](const Exception* one) { return !wanted(one); });
  };
  keep([](const Exception* one) { return !pod::is_of_launcher(*one); });
  keep([](const Exception* one) { return !pod::is_of_lost_peer(*one); });
  keep([&](const Exception* one) { return pod::has_rank(one->process, first.rank); });
  if (left.empty()) return nullptr;
  const bool has_several =
      std::ranges::any_of(left, [&](const Exception* one) { return one->process != left.front()->process; });
  const bool has_launcher = !first.rank.empty() || std::ranges::any_of(all, [](const Exception& one) {
    return one.name == "ChildFailedError";
  });
  // Of several processes the first one; of one that logs exceptions and continues, the last one.
  return has_several || (has_launcher && !pod::has_rank(left.front()->process, first.rank)) ? left.front()
                                                                                            : left.back();
}

/// Lines that a program prints for information.
bool informs(std::string_view line) {
  return line.contains("HTTP/1.1\" ") || line.contains("HTTP/1.0\" ") ||  // a server's list of requests
         mentions_any(line, {"hostname of the client socket cannot be retrieved", " info ", "info:", "[info]",
                             "debug:", "[debug]", " debug ", "level=info", "note:", "nccl info"});
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

/// What prints a line: launchers print between rules; `none`: frames of a stack, and what torchrun repeats.
enum class Writer { none, launcher, program };

std::vector<Writer> writers_of(std::span<const std::string> log) {
  constexpr std::size_t tallest = 40;
  std::vector<Writer> writers(log.size(), Writer::none);
  for (std::size_t i = 0; i < log.size(); ++i) {
    const std::string_view text = base::trim(log[i]);
    const bool is_indented = !log[i].empty() && (log[i].front() == ' ' || log[i].front() == '\t');
    if (has_letters(text) && (!is_indented || text.starts_with("what():")) && !pod::is_of_torchrun(text))
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

/// Of a log from `begin` on.
LastError from_line(std::span<const std::string> log, const std::vector<Exception>& exceptions,
                    std::size_t begin = 0) {
  std::vector<Writer> writers = writers_of(log);
  std::fill_n(writers.begin(), begin, Writer::none);
  for (const Exception& one : exceptions)
    if (pod::is_of_launcher(one))
      for (std::size_t i = one.first; i <= one.last; ++i) writers[i] = Writer::none;
  const auto is_own = [&](std::size_t i) { return writers[i] == Writer::program; };
  std::size_t at = last_that(log, [&](std::size_t i) { return is_own(i) && begins_crash(log[i]); });
  if (at == nothing) at = last_that(log, [&](std::size_t i) { return is_own(i) && is_about_error(log[i]); });
  if (at == nothing)
    at = last_that(log,
                   [&](std::size_t i) { return writers[i] == Writer::launcher && is_about_error(log[i]); });
  if (at == nothing) at = last_that(log, is_own);
  if (at == nothing) at = last_that(log, [&](std::size_t i) { return !base::trim(log[i]).empty(); });
  LastError error;
  if (at == nothing) return error;
  error.text = std::string(base::trim(log[at]));
  error.end = at + 1;
  // A message that its first line only introduces, and the words of C++ for what was thrown.
  if (error.text.ends_with(':') && at + 1 < log.size() && has_letters(log[at + 1]))
    error.text += " " + std::string(base::trim(log[at + 1])), ++error.end;
  if (error.text.starts_with("terminate called") && at + 1 < log.size())
    if (const std::string_view what = base::trim(log[at + 1]); what.starts_with("what():"))
      error.text += " " + std::string(what), ++error.end;
  std::size_t first = at;
  while (first > 0 && is_own(first - 1) && is_about_error(log[first - 1])) --first;
  if (first < at) error.previous = std::string(base::trim(log[first]));
  // A program that cannot be compiled has no traceback, and Python names the place before the error.
  std::vector<pod::Frame> frames;
  for (std::size_t i = at; i-- > 0 && at - i < 5;)
    if (auto frame = pod::frame_in(log[i]); !frame.file.empty()) frames.push_back(std::move(frame));
  error.origin = pod::own_frame(frames);
  return error;
}

/// The lines as a terminal would show them, with the number of each in the log: without colors and without
/// what a carriage return overwrites. A traceback in a field of JSON becomes several.
struct Lines {
  std::vector<std::string> texts;
  std::vector<std::size_t> numbers;
};

std::string as_shown(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  if (const std::size_t last = line.rfind('\r'); last != std::string_view::npos) line.remove_prefix(last + 1);
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && (line[i] < '@' || line[i] > '~')) ++i;
      continue;
    }
    text += line[i];
  }
  return text;
}

Lines lines_of(std::span<const std::string> log) {
  constexpr std::size_t most = 4000;
  Lines lines;
  const auto add = [&](std::string text, std::size_t number) {
    lines.texts.push_back(std::move(text));
    lines.numbers.push_back(number);
  };
  for (std::size_t i = 0; i < log.size(); ++i) {
    const std::string text = as_shown(log[i]);
    if (!text.contains("Traceback (most recent call last)") || !text.contains("\\n") ||
        lines.texts.size() > most) {
      add(text, i);
      continue;
    }
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find("\\n", at), text.size());
      add(base::replace_all(text.substr(at, end - at), "\\\"", "\""), i);
      at = end + 2;
    }
  }
  return lines;
}

/// Whether a program of one process printed other lines after an exception, and then an error: it handled the
/// exception.
bool is_handled(std::span<const std::string> log, const std::vector<Exception>& all,
                const Exception& chosen) {
  const bool is_alone = std::ranges::all_of(
      all, [](const Exception& one) { return one.process.empty() && !pod::is_of_launcher(one); });
  if (!is_alone) return false;
  const std::vector<Writer> writers = writers_of(log);
  bool continued = false;
  for (std::size_t i = chosen.last + 1; i < log.size(); ++i) {
    if (writers[i] != Writer::program || informs(log[i])) continue;
    if (!is_about_error(log[i]))
      continued = true;
    else if (continued)
      return true;
  }
  return false;
}

void shorten(LastError& error) {
  for (std::string* text : {&error.text, &error.origin, &error.previous})
    *text = base::printable(*text, longest);
}

}  // namespace

LastError last_error(std::span<const std::string> log) {
  const Lines lines = lines_of(log);
  const pod::FirstFailure first = pod::first_failure(lines.texts);
  const std::vector<Exception> all = pod::exceptions_in(lines.texts);
  const Exception* chosen = choose(all, first);
  // A process that a signal ended has no exception; those are then of the launcher and of other processes.
  const bool is_explained =
      chosen && !pod::is_of_launcher(*chosen) && !(first.signal > 0 && pod::is_of_lost_peer(*chosen));
  const auto of_exception = [&] {
    LastError error;
    error.text = chosen->text;
    error.end = chosen->last + 1;
    error.is_own = is_own_error(*chosen);
    error.origin = pod::own_frame(chosen->frames);
    if (chosen->has_cause && chosen > &all.front()) error.previous = std::prev(chosen)->text;
    return error;
  };
  LastError error;
  if (is_explained && is_handled(lines.texts, all, *chosen)) {
    error = from_line(lines.texts, all, chosen->last + 1);
    error.previous = chosen->text;
  } else if (is_explained) {
    error = of_exception();
  } else {
    error = from_line(lines.texts, all);
    // The name of torchrun's exception says nothing.
    const bool is_useful = is_about_error(error.text) || (chosen && chosen->name == "ChildFailedError");
    if (chosen && first.signal == 0 && (error.text.empty() || !is_useful)) error = of_exception();
  }
  if (error.end > 0) error.end = lines.numbers[error.end - 1] + 1;
  error.rank = first.rank;
  error.signal = is_explained ? 0 : first.signal;
  shorten(error);
  return error;
}

}  // namespace kube
