#pragma once

#include "gpuadm/kube/last_error.hpp"

#include "kube/log/traceback.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The line of a log that names the error, if no exception of Python does.
namespace kube::pod {

/// What a line is: `none` is neither of a program nor of a launcher, which prints between rules: frames of a
/// stack, blank lines, tables, and what torchrun repeats.
enum class Writer { none, launcher, program };
[[nodiscard]] std::vector<Writer> writers_of(std::span<const std::string> log);

/// Whether a line may be about an error, by its level or its words.
[[nodiscard]] bool is_about_error(std::string_view line);
/// Whether a line only says that something failed, without a reason: "failed to load all models".
[[nodiscard]] bool is_summary(std::string_view text);
/// Whether a line is one that a program prints while it works: it says nothing of an error and has no level.
[[nodiscard]] bool is_ordinary(std::string_view line, Writer writer);

/// The error line after line `begin` of a log, without those of launchers' exceptions.
[[nodiscard]] LastError error_line(std::span<const std::string> log, const std::vector<Exception>& exceptions,
                                   std::size_t begin = 0);

/// The first line before `end` that may be about the failure there: after the last ordinary one, at most 40
/// lines before. With `most_info` lines for information in between the program has continued, too.
[[nodiscard]] std::size_t begin_of_failure(std::span<const std::string> log, std::size_t end,
                                           std::size_t most_info);

/// A line as a terminal shows it: without colors, and without what a carriage return overwrites.
[[nodiscard]] std::string as_shown(std::string_view line);

/// The lines as a terminal would show them, with the number of each in the log: without colors and without
/// what a carriage return overwrites. A traceback in a field of JSON becomes several.
struct Lines {
  std::vector<std::string> texts;
  std::vector<std::size_t> numbers;
};
[[nodiscard]] Lines lines_of(std::span<const std::string> log);

}  // namespace kube::pod
