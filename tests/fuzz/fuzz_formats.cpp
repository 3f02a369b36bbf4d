// YAML, JSON and TOML, by the first byte; what was read and is written again reads back as the same.
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/toml.hpp"
#include "gpuadm/base/yaml.hpp"

#include "target.hpp"

#include <cstdlib>

namespace {

void toml(std::string_view text) {
  const auto tree = base::toml::read(text, "input");
  if (!tree) return;
  const base::toml::Assignment wanted[] = {{{"plugins", "cri", "sandbox_image"}, "pause"}, {{"version"}, 2}};
  const auto changed = base::toml::set(text, wanted, "input");
  if (changed && !base::toml::read(*changed, "changed")) std::abort();
}

}  // namespace

void try_input(std::string_view input) {
  if (input.empty()) return;
  const std::string_view text = input.substr(1);
  switch (input[0]) {
    case 'y':
      if (const auto tree = base::yaml::read(text, "input"))
        if (const auto again = base::yaml::read(base::yaml::write(*tree), "again"); !again || *again != *tree)
          std::abort();
      break;
    case 'j':
      if (const auto tree = base::json::read(text, "input"))
        if (const auto again = base::json::read(base::json::write(*tree), "again"); !again || *again != *tree)
          std::abort();
      break;
    default:
      toml(text);
  }
}
