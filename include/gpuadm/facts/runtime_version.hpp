#pragma once

#include "gpuadm/facts/runtime.hpp"

#include <string_view>

namespace facts {

/// The version of a container runtime: "containerd", "docker", "crio". Empty: it is not installed.
[[nodiscard]] std::string version_of(const Runtimes& runtimes, std::string_view name);

}  // namespace facts
