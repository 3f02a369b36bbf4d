// One section of a probe: the first line of the input names it ("nvidia-smi-xml", "/etc/os-release"), the
// rest is what the program or file printed. So that the fuzzer spends its time in the parser behind the
// frame.
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/facts.hpp"

#include "target.hpp"

#include <string>

void try_input(std::string_view input) {
  std::string probe = "gpuadm-probe 1\n";
  bool first = true;
  for (const std::string_view line : base::lines(input)) {
    probe += (first ? "=== " : "| ") + std::string(line) + "\n";
    first = false;
  }
  if (const auto facts = facts::parse(probe + "? 0\n=== end\n")) (void)facts::to_tree(*facts);
}
