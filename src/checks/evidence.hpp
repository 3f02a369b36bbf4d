#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace checks {

/// Sections that checks depend on. All rows with a matching id apply.
struct Evidence {
  std::string_view id;  ///< with a star at the end: a prefix
  /// Sections of the probe, or of the cluster's state; with a star at the end: a prefix.
  std::array<std::string_view, 9> sections;
};
/// The rows of GPUs and of the cluster.
[[nodiscard]] std::span<const Evidence> gpu_evidence();

/// The check that fails if facts that select steps could not be read.
inline constexpr std::string_view plan_evidence = "host.probe.complete";

/// Whether a check depends on a section of the probe, or of the cluster's state.
[[nodiscard]] bool rests_on(std::string_view id, std::string_view section);

/// The first unread section that a check depends on, with the reason: "nvidia-smi-xml could not be read:
/// timed out".
[[nodiscard]] std::optional<std::string> unread_evidence(std::string_view id,
                                                         const std::map<std::string, std::string>& unread);

}  // namespace checks
