#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace base {

/// What is wrong with one file that the operator wrote, gathered so that all of it is said at once.
class Problems {
 public:
  explicit Problems(std::string_view source) : source_(source) {}

  void add(Mark mark, std::string what);
  /// Adds every key of `map` that is none of `known`, with the nearest of them or all of them. `prefix` is
  /// what stands before a key in messages: "" or "network.".
  void add_unknown_keys(const Tree& map, std::string_view prefix, std::span<const std::string> known);

  [[nodiscard]] bool empty() const { return found_.empty(); }
  /// Fault::spec; a line `source:line:column: what` for each, in the order of the file.
  [[nodiscard]] Error error(std::string hint = {}) const;

 private:
  struct Problem {
    Mark mark;
    std::string what;
  };
  std::string source_;
  std::vector<Problem> found_;
};

}  // namespace base
