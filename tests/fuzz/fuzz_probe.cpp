// The whole output of a probe, as a host sends it: read, shown as a tree, and made nameless.
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/facts/redact.hpp"

#include "target.hpp"

void try_input(std::string_view input) {
  if (const auto facts = facts::parse(input)) (void)facts::to_tree(*facts);
  facts::Redactor redactor("salt");
  redactor.learn_from(input);
  (void)redactor(input);
}
