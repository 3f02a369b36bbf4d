#pragma once

#include "gpuadm/base/text.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace workload {

/// Whether a failed pull fails again: what registries and container runtimes say of an image that does not
/// exist or has another platform, and of one that needs a login.
[[nodiscard]] inline bool is_final_pull(std::string_view message) {
  constexpr std::array<std::string_view, 8> messages = {
      "not found", "manifest unknown", "no match for platform", "no matching manifest",
      "denied",    "unauthorized",     "does not exist",        "invalid reference"};
  const std::string text = base::lower(message);
  return std::ranges::any_of(messages,
                             [&](std::string_view one) { return text.find(one) != std::string::npos; });
}

}  // namespace workload
