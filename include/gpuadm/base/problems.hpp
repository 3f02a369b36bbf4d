#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace base {

/// Collects the problems of one file that the operator wrote, so that all are reported at once.
class Problems {
 public:
  explicit Problems(std::string_view source) : source_(source) {}

  void add(Mark mark, std::string what);
  /// Adds every key of `map` that is not in `known`, with the nearest known key or all of them. `prefix` is
  /// put before a key in messages: "" or "network.".
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

/// Why an item of a file, such as "user anna", cannot be had: Fault::blocked, with the place in front.
[[nodiscard]] Error at_place(Error error, const std::string& source, const Mark& mark,
                             const std::string& item);

}  // namespace base
