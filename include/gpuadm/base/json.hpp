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

/// Writes an object of many large members, of which one at a time is in memory as a Tree.
class Members {
 public:
  void add(std::string_view key, const Tree& value);
  /// What write() gives for all of them.
  [[nodiscard]] std::string end() &&;

 private:
  std::string out_;
};

}  // namespace base::json
