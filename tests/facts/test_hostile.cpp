#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/facts/facts.hpp"

#include "facts/probe_text.hpp"

#include <doctest/doctest.h>

#include <random>

namespace {

std::string capture() {
  return base::read_file(GPUADM_TESTS_DIR "/cases/facts/h200-x2/probe.txt").value();
}

/// Reads it and writes it out again: nothing may crash, whatever comes out.
void survive(const std::string& text) {
  if (const auto facts = facts::parse(text)) (void)base::json::write(facts::to_tree(*facts));
}

}  // namespace

TEST_CASE("output that ends anywhere is refused or read, never a crash") {
  const std::string whole = capture();
  for (std::size_t size = 0; size < whole.size(); size += 311) {
    survive(whole.substr(0, size));
    survive(whole.substr(0, size) + "\n=== end\n");
  }
}

TEST_CASE("output with bytes changed at random is refused or read, never a crash") {
  const std::string whole = capture();
  std::minstd_rand random(7);
  for (int round = 0; round < 200; ++round) {
    std::string text = whole;
    for (int i = 0; i < 40; ++i) text[random() % text.size()] = static_cast<char>(random() & 255);
    survive(text);
  }
}

TEST_CASE("every section filled with garbage is survived") {
  const std::string whole = capture();
  const std::string garbage[] = {std::string(5000, '\0'),
                                 std::string(100000, '['),
                                 std::string(100000, '<'),
                                 std::string(20000, ' ') + "=",
                                 "a b c d e f g h i j k l m n o p q r s t u v w x y z",
                                 "-1 -1 -1 -1 -1 -1 -1 -1",
                                 "99999999999999999999 0-99999999999999999999,0-4294967295"};
  for (const std::string& junk : garbage) {
    std::string text = "gpuadm-probe 1\n";
    std::size_t at = whole.find("\n=== ");
    while (at != std::string::npos) {
      const std::size_t end = whole.find('\n', at + 1);
      text += whole.substr(at + 1, end - at) + "| " + junk + "\n| " + junk + "\n? 0\n";
      at = whole.find("\n=== ", end);
    }
    survive(text + "=== end\n");
  }
}
