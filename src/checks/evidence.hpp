#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

/// What checks depend on. `reads`: patterns of sections, as in Check.
namespace checks {

/// The sections that select the steps of a plan.
inline constexpr std::string_view plan_reads =
    "paths tools units /etc/os-release machine /proc/modules pci addresses routes "
    "/etc/kubernetes/kubelet.conf "
    "/proc/driver/nvidia/version /etc/gpuadm/quarantine";

/// Whether a section of the probe, or of the cluster's state, is among them.
[[nodiscard]] bool rests_on(std::string_view reads, std::string_view section);

/// The first of them that is unread, with the reason: "nvidia-smi-xml could not be read: timed out".
[[nodiscard]] std::optional<std::string> unread_evidence(std::string_view reads,
                                                         const std::map<std::string, std::string>& unread);

}  // namespace checks
