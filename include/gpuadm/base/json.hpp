#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace base::json {

/// Reads one JSON text. Errors: Fault::parse with `source:line:column: …`. Depth is bounded (256).
[[nodiscard]] Result<Tree> read(std::string_view text, std::string_view source);

/// Takes a scalar of a JSON text, and the keys of the maps around it, the outermost first; the items of a
/// list have the keys of the list.
using TakeScalar = std::function<void(const std::vector<std::string>& keys, const Tree& value)>;
/// Reads one JSON text without a Tree of the whole: the memory does not grow with the number of values. The
/// same errors as read(); `take` was called for what precedes one.
[[nodiscard]] Result<> each_scalar(std::string_view text, std::string_view source, const TakeScalar& take);

/// `indent` spaces a level; 0 writes one line. Invalid UTF-8 is replaced.
[[nodiscard]] std::string write(const Tree& tree, int indent = 2);

/// Writes an object of many large members, with only one of them in memory: together the same text as write()
/// of the whole object.
class Members {
 public:
  explicit Members(std::function<void(std::string_view piece)> write) : write_(std::move(write)) {}
  void add(std::string_view key, const Tree& value);
  /// Writes the end. Nothing may be added afterwards.
  void end();

 private:
  std::function<void(std::string_view piece)> write_;
  bool empty_ = true;
};

}  // namespace base::json
