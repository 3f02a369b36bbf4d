#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace report {

/// Where text goes: a terminal, a pipe, a string in a test.
using Write = std::function<void(std::string_view)>;

enum class Colour { no, yes };
/// `commands`: also what was run on hosts, and what it said.
enum class Verbosity { quiet, normal, verbose, commands };
/// `live`: the last line may be rewritten (a terminal). `plain`: only whole lines, none ever taken back.
enum class View { plain, live };

struct Style {
  Colour colour = Colour::no;
  Verbosity verbosity = Verbosity::normal;
  View view = View::plain;
  std::size_t width = 0;  ///< columns; 0: lines are never cut
};

}  // namespace report
