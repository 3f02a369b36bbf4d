#pragma once

#include <array>
#include <string_view>

/// What the cluster file was like before: all that `gpuadm config migrate` knows.
namespace spec {

/// Every apiVersion that was ever read; the last is the current one.
inline constexpr std::array<std::string_view, 1> formats = {"gpuadm/v1alpha1"};
inline constexpr std::string_view current_format = formats.back();

/// A section whose keys stand one level deeper today.
struct Moved {
  std::string_view section, into;
};
inline constexpr std::array<Moved, 1> moved = {{{"mirrors", "registries"}}};

}  // namespace spec
