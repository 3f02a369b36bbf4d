#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace checks {

/// What checks rest on. Every row whose id fits adds its sections.
struct Evidence {
  std::string_view id;  ///< with a star at the end: every check that begins so
  /// Of the probe, or of what the control plane said; with a star at the end: every section that begins so.
  std::array<std::string_view, 9> sections;
};
/// The rows of GPUs and of the cluster.
[[nodiscard]] std::span<const Evidence> gpu_evidence();

/// The check that fails if facts that select steps could not be read.
inline constexpr std::string_view plan_evidence = "host.probe.complete";

/// Whether a check rests on a section of the probe, or of what the control plane said.
[[nodiscard]] bool rests_on(std::string_view id, std::string_view section);

/// Which of those that a check rests on is among those that could not be read, and why: "nvidia-smi-xml could
/// not be read: timed out".
[[nodiscard]] std::optional<std::string> unread_evidence(std::string_view id,
                                                         const std::map<std::string, std::string>& unread);

}  // namespace checks
