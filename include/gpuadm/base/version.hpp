#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace base {

/// A dotted version: "v1.20.2", "1.36", "580.159.04", "1.7.24~ds1-1". Missing parts are -1 and compare
/// lowest.
struct Version {
  int major = -1;
  int minor = -1;
  int patch = -1;
  [[nodiscard]] static std::optional<Version> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  /// "1.20"
  [[nodiscard]] std::string minor_text() const;
  friend auto operator<=>(const Version&, const Version&) = default;
};

}  // namespace base
