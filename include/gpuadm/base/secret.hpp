#pragma once

#include <string>
#include <utility>

namespace base {

/// A value that must not be printed. It has no formatter and no operator<<; reveal() is greppable. Its
/// destructor overwrites the memory.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept : value_(std::move(other.value_)) { other.wipe(); }
  Secret& operator=(const Secret&) = default;
  Secret& operator=(Secret&& other) noexcept {
    wipe();
    value_ = std::move(other.value_);
    other.wipe();
    return *this;
  }
  ~Secret() { wipe(); }

  [[nodiscard]] const std::string& reveal() const { return value_; }
  [[nodiscard]] bool empty() const { return value_.empty(); }

 private:
  void wipe() noexcept;
  std::string value_;
};

}  // namespace base
