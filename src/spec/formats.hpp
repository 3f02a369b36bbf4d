#pragma once

#include <array>
#include <string_view>

/// Earlier formats of the cluster file: the data of `gpuadm config migrate`.
namespace spec {

/// All supported values of apiVersion; the last is the current one.
inline constexpr std::array<std::string_view, 1> formats = {"gpuadm/v1alpha1"};
inline constexpr std::string_view current_format = formats.back();

/// A section whose keys are now one level deeper.
struct Moved {
  std::string_view section, into;
};
inline constexpr std::array<Moved, 1> moved = {{{"mirrors", "registries"}}};

}  // namespace spec
