#include "kube/log/traceback.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/log_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>

namespace kube::pod {

namespace {

constexpr std::string_view header = "Traceback (most recent call last)";
constexpr std::size_t longest = 600, most_foreign = 200, most_frames = 200;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view without_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

}  // namespace

std::string_view process_of(std::string_view prefix) {
  std::size_t end = 0;
  while (end < prefix.size() && (prefix[end] == '[' || prefix[end] == '(' || prefix[end] == '<')) {
    const char closing = prefix[end] == '[' ? ']' : prefix[end] == '(' ? ')' : '>';
    const std::size_t close = prefix.find(closing, end);
    if (close == std::string_view::npos) break;
    end = close + 1;
    if (end < prefix.size() && prefix[end] == ':') ++end;
  }
  return prefix.substr(0, end);
}

namespace {

/// Whether two beginnings of lines are of one process and logger: digits may differ, as those of a time do.
bool is_alike(std::string_view one, std::string_view other) {
  if (process_of(one) != process_of(other)) return false;
  return std::ranges::equal(one, other,
                            [](char a, char b) { return a == b || (is_digit(a) && is_digit(b)); });
}

/// The line without the prefix of its process; nothing: it is of another process.
std::optional<std::string_view> without(std::string_view line, std::string_view prefix) {
  // Loggers write no blank after the prefix of an empty line.
  const std::string_view short_prefix = without_end(prefix);
  if (line.size() >= prefix.size() && is_alike(line.substr(0, prefix.size()), prefix))
    return line.substr(prefix.size());
  if (line.size() == short_prefix.size() && is_alike(line, short_prefix)) return std::string_view();
  return std::nullopt;
}

bool is_chained(std::string_view line) {
  return line.contains("During handling of the above exception") ||
         line.contains("was the direct cause of the following exception");
}

/// A message continues on the next lines if its first one only introduces them.
bool is_introduction(std::string_view text) {
  const std::string_view trimmed = without_end(text);
  return trimmed.ends_with(':') || trimmed.contains(" validation error");
}

/// Reads on from the exception's line: the lines that its first one introduces, and NCCL's own last error.
void add_message(std::span<const std::string> log, std::string_view prefix, Exception& one) {
  constexpr std::size_t most = 2, searched = 8;
  std::size_t added = 0;
  bool is_wanted = is_introduction(one.text);
  for (std::size_t i = one.last + 1, read = 0; i < log.size() && read < searched && added < most; ++i) {
    const auto rest = without(log[i], prefix);
    if (!rest) continue;
    ++read;
    const std::string_view text = base::trim(*rest);
    if (text.contains(header) || is_chained(text) || text.starts_with("====")) break;
    if (text.empty()) continue;
    if (text == "Last error:") {
      is_wanted = true;
      continue;
    }
    if (!is_wanted) continue;
    one.text = fmt::format("{} {}", without_end(one.text), text.substr(0, longest));
    one.last = i;
    is_wanted = ++added < most && text.ends_with(':');
  }
}

/// All lines of the message, for its words: those after its first until another record of the log begins.
void read_message(std::span<const std::string> log, std::string_view prefix, Exception& one) {
  constexpr std::size_t most = 16;
  one.message = (one.module.empty() ? "" : one.module + ".") + one.text;
  const std::size_t begin = one.last + 1;
  for (std::size_t i = begin, read = 0; i < log.size() && read < most && i < begin + most * 4; ++i) {
    const auto rest = without(log[i], prefix);
    if (!rest) continue;
    ++read;
    if (rest->contains(header) || is_chained(*rest)) break;
    if (prefix.empty() && read_log_line(*rest).level != Level::none) break;
    one.message += "\n" + std::string(rest->substr(0, longest));
    one.past = i + 1;
  }
}

/// The traceback that begins in line `first`, at `column`; nothing: the log ends before its exception.
std::optional<Exception> read_traceback(std::span<const std::string> log, std::size_t first,
                                        std::size_t column) {
  std::string_view prefix = std::string_view(log[first]).substr(0, column);
  // A logger that puts its prefix before the first line of a message only.
  if (first + 1 < log.size() && !frame_in(log[first + 1]).file.empty() &&
      log[first + 1].starts_with("  File"))
    prefix = {};
  Exception one{.process = std::string(process_of(prefix)), .first = first};
  std::size_t foreign = 0;
  for (std::size_t i = first + 1; i < log.size() && foreign < most_foreign; ++i) {
    const auto rest = without(log[i], prefix);
    if (!rest) {
      ++foreign;
      continue;
    }
    if (rest->contains(header)) return std::nullopt;
    if (rest->empty() || rest->front() == ' ' || rest->front() == '\t') {
      Frame frame = frame_in(*rest);
      if (!frame.file.empty() && one.frames.size() < most_frames)
        one.frames.push_back(std::move(frame));
      else if (!one.frames.empty() && one.frames.back().source.empty())
        one.frames.back().source = std::string(base::trim(*rest).substr(0, longest));
      continue;
    }
    const std::string_view name = exception_name(*rest);
    if (name.empty()) {
      ++foreign;
      continue;
    }
    const std::size_t dot = name.substr(0, name.find('(')).rfind('.');
    one.name = std::string(dot == std::string_view::npos ? name : name.substr(dot + 1));
    one.module = std::string(dot == std::string_view::npos ? std::string_view() : name.substr(0, dot));
    one.text = one.name + std::string(rest->substr(name.size()).substr(0, longest));
    one.last = i;
    // "RayTaskError(ValueError): ..." is followed by the frames and the exception of the other process.
    if (i + 1 < log.size())
      if (const auto next = without(log[i + 1], prefix); next && !frame_in(*next).file.empty()) continue;
    one.past = i + 1;
    read_message(log, prefix, one);
    add_message(log, prefix, one);
    one.past = std::max(one.past, one.last + 1);
    return one;
  }
  if (!one.text.empty()) return one;
  return std::nullopt;
}

/// Python's own files and those of installed packages.
bool is_installed(std::string_view file) {
  constexpr std::array<std::string_view, 7> parts = {"site-packages/", "dist-packages/", "/lib/python",
                                                     "/lib64/python",  "/usr/bin/",      "/usr/local/bin/",
                                                     "/opt/conda/bin/"};
  return file.starts_with("<") ||
         std::ranges::any_of(parts, [&](std::string_view part) { return file.contains(part); });
}

}  // namespace

std::string_view exception_name(std::string_view line) {
  std::size_t end = 0;
  bool has_lower = false;
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) || c == '.';
  };
  while (end < line.size() && is_word(line[end])) {
    has_lower = has_lower || (line[end] >= 'a' && line[end] <= 'z');
    ++end;
  }
  if (end == 0 || is_digit(line.front()) || line.front() == '.' || !has_lower) return {};
  std::size_t name = end;
  // "RayTaskError(ValueError): ..."
  if (end < line.size() && line[end] == '(') {
    const std::size_t close = line.find(')', end);
    if (close == std::string_view::npos) return {};
    name = end = close + 1;
  }
  if (end == line.size()) return line.substr(0, name);
  const bool has_text = line[end] == ':' && (end + 1 == line.size() || line[end + 1] == ' ');
  return has_text ? line.substr(0, name) : std::string_view();
}

Frame frame_in(std::string_view line) {
  const std::string_view text = base::trim(line);
  constexpr std::string_view begin = "File \"", middle = "\", line ";
  if (!text.starts_with(begin)) return {};
  const std::size_t end = text.find(middle, begin.size());
  if (end == std::string_view::npos) return {};
  Frame frame;
  frame.file = std::string(text.substr(begin.size(), end - begin.size()).substr(0, longest));
  const std::string_view rest = text.substr(end + middle.size());
  const std::size_t comma = rest.find(", in ");
  frame.line = std::string(rest.substr(0, comma).substr(0, 10));
  if (comma != std::string_view::npos)
    frame.function = std::string(rest.substr(comma + 5).substr(0, longest));
  return frame;
}

std::string own_frame(std::span<const Frame> frames) {
  for (const Frame& one : frames | std::views::reverse) {
    if (is_installed(one.file)) continue;
    return fmt::format("{}, line {}{}{}{}", one.file, one.line,
                       one.function.empty() || one.function == "<module>" ? "" : ", in " + one.function,
                       one.source.empty() ? "" : ": ", one.source);
  }
  return {};
}

std::vector<Exception> exceptions_in(std::span<const std::string> log) {
  std::vector<Exception> found;
  std::size_t chained_at = 0;  // the line after the last one about a chain
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (is_chained(log[i])) chained_at = i + 1;
    const std::size_t column = log[i].find(header);
    if (column == std::string::npos) continue;
    auto one = read_traceback(log, i, column);
    if (!one) continue;
    one->has_cause = chained_at > 0 && !found.empty() && found.back().process == one->process &&
                     chained_at > found.back().last && chained_at <= i;
    found.push_back(std::move(*one));
  }
  return found;
}

}  // namespace kube::pod
