#pragma once

#include "gpuadm/spec/cluster.hpp"

#include <algorithm>
#include <array>
#include <string_view>

/// The one table of container runtimes.
namespace spec {

struct EngineRow {
  Engine engine;
  std::string_view name;   ///< in the cluster file, as a selector of playbooks, and as $engine
  std::string_view title;  ///< in text for people
  std::string_view program, unit;
  std::string_view socket;  ///< of its CRI
  std::string_view images;  ///< directory of its images, unless configured
  /// How to install it where gpuadm does not; empty: gpuadm installs it.
  std::string_view by_hand = {};
};

inline constexpr std::array engines = std::to_array<EngineRow>({
    {Engine::containerd, "containerd", "containerd", "containerd", "containerd.service",
     "/run/containerd/containerd.sock", "/var/lib/containerd"},
    {Engine::docker, "docker", "Docker", "dockerd", "docker.service", "/run/cri-dockerd.sock",
     "/var/lib/docker"},
    {Engine::crio, "crio", "CRI-O", "crio", "crio.service", "/run/crio/crio.sock", "/var/lib/containers",
     "install cri-o, or use another runtime.engine"},
});

[[nodiscard]] constexpr const EngineRow& row_of(Engine engine) {
  return *std::ranges::find(engines, engine, &EngineRow::engine);
}

}  // namespace spec
