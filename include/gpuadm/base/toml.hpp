#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace base::toml {

/// Reads one TOML text. Errors: Fault::parse with `source:line:column: …`.
[[nodiscard]] Result<Tree> read(std::string_view text, std::string_view source);

[[nodiscard]] std::string write(const Tree& tree);

/// One key to set, by its path from the root.
struct Assignment {
  std::vector<std::string> path;
  Tree value;
};

/// `text` with the assignments applied and everything else (comments, order, spacing) unchanged. The result
/// is parsed and must equal the merged tree; if it does not, the text is written again from the tree.
[[nodiscard]] Result<std::string> set(std::string_view text, std::span<const Assignment> assignments,
                                      std::string_view source);

}  // namespace base::toml
