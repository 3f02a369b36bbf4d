#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace report {

/// Where text is written: a terminal, a pipe, a string in a test.
using Write = std::function<void(std::string_view)>;

enum class Color { no, yes };
/// `commands`: also the commands on hosts and their output.
enum class Verbosity { quiet, normal, verbose, commands };
/// `live`: the last line may be rewritten (a terminal). `plain`: only complete lines, never rewritten.
enum class View { plain, live };
/// How a plan shows the changes of a file: as a line with the number of changed lines, or in full.
enum class Diffs { folded, shown };

struct Style {
  Color color = Color::no;
  Verbosity verbosity = Verbosity::normal;
  View view = View::plain;
  Diffs diffs = Diffs::folded;
  std::size_t width = 0;  ///< columns; 0: lines are never truncated
  /// Adds to the commands of a suggestion what the operator has typed. Empty: nothing is added.
  std::function<std::string(std::string_view)> complete = {};
};

/// Whether text is shortened to fit a screen: on a terminal, unless -v or -q was given. Output to a file or a
/// pipe is never shortened.
[[nodiscard]] inline bool is_brief(const Style& style) {
  return style.view == View::live && style.verbosity == Verbosity::normal;
}

}  // namespace report
