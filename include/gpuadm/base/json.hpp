#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"

#include <string>
#include <string_view>

namespace base::json {

/// Reads one JSON text. Errors: Fault::parse with `source:line:column: …`. Depth is bounded (256).
[[nodiscard]] Result<Tree> read(std::string_view text, std::string_view source);

/// `indent` spaces a level; 0 writes one line. Bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string write(const Tree& tree, int indent = 2);

}  // namespace base::json
