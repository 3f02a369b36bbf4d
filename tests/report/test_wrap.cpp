#include "gpuadm/report/wrap.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

/// As a terminal of that width shows it, which begins a new line where one is full.
std::string on_screen(std::string_view text, std::size_t width) {
  std::string shown;
  for (std::size_t at = 0; at < text.size(); at += width) {
    std::string line(text.substr(at, width));
    line.erase(line.find_last_not_of(' ') + 1);
    shown += line + "\n";
  }
  return shown;
}

std::string typed(std::string_view line, std::size_t width) {
  return on_screen("  do: " + report::padded(line, 6, width), width);
}

}  // namespace

TEST_CASE("what is to be typed is one line, and words stand whole on the screen") {
  CHECK(report::padded("apt-get install linux-headers", 6, 0) == "apt-get install linux-headers");
  CHECK(report::padded("apt-get install linux-headers", 6, 80) == "apt-get install linux-headers");
  CHECK(typed("apt-get install linux-headers-6.1 dkms", 30) ==
        "  do: apt-get install\n      linux-headers-6.1 dkms\n");
  // A word ends where the line does.
  CHECK(typed("apt-get install x y", 21) == "  do: apt-get install\n      x y\n");
  // What is in quotes keeps its blanks; an apostrophe is not a quote.
  CHECK(typed("sed -i 's/a b c/d e f/' file", 20) == "  do: sed -i\n      's/a b c/d e f\n/' file\n");
  CHECK(typed("take the node's cable out now", 20) == "  do: take the\n      node's cable\n      out now\n");
  CHECK(report::padded("a b", 10, 8) == "a b");
  CHECK(report::padded("", 2, 8).empty());
}

TEST_CASE("a word that is wider than the screen is broken by the screen, and the next one continues below") {
  CHECK(typed("curl https://example.com/a/long/path | sh", 20) ==
        "  do: curl\n      https://exampl\ne.com/a/long/path |\n      sh\n");
}
