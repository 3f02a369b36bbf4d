#pragma once

#include "gpuadm/base/tree.hpp"

#include "checks/check.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

/// Thresholds of the kubelet for full file systems: KubeletConfiguration, kubelet.config.k8s.io/v1beta1.
namespace checks {

/// A threshold of evictionHard, with the kubelet's default.
struct EvictionSignal {
  std::string_view name, fallback;
  bool images;  ///< of the file system of the container runtime's images; otherwise of /var/lib/kubelet
  bool inodes;
};
inline constexpr EvictionSignal nodefs_available{"nodefs.available", "10%", false, false},
    nodefs_inodes_free{"nodefs.inodesFree", "5%", false, true},
    imagefs_available{"imagefs.available", "15%", true, false};
inline constexpr std::array eviction_signals = {nodefs_available, nodefs_inodes_free, imagefs_available};

/// KubeletConfiguration of a host: its own file in the stage `node`; before, the cluster file's patches, and
/// what the file of a node has in addition. A map.
[[nodiscard]] base::Tree kubelet_settings(const Subject& subject);
/// Whether flags or a configuration folder of the kubelet, which are not evaluated, may override thresholds.
[[nodiscard]] bool has_threshold_flags(const Subject& subject);
/// "10%" or "5Gi". A key that is missing from a given evictionHard is off, "0%", unless
/// mergeDefaultEvictionSettings is true.
[[nodiscard]] std::string eviction_threshold(const base::Tree& settings, const EvictionSignal& signal);
/// A threshold as a fraction of `whole`, which is in bytes or inodes; 0% and 100% are off: 0. Nothing if it
/// is not a quantity.
[[nodiscard]] std::optional<double> share_of(std::string_view threshold, double whole);
/// imageGCHighThresholdPercent: the use of the images' file system in percent from which the kubelet deletes
/// unused images; 100: never.
[[nodiscard]] double image_deletion_percent(const base::Tree& settings);

}  // namespace checks
