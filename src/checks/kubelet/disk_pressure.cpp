#include "checks/kubelet/disk_pressure.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/quantity.hpp"

#include <algorithm>
#include <array>

namespace checks {

base::Tree kubelet_settings(const Subject& subject) {
  const auto& kubernetes = subject.facts.kubernetes;
  const base::Tree* on_node =
      kubernetes.kubelet_conf && kubernetes.kubelet_config ? &*kubernetes.kubelet_config : nullptr;
  if (subject.stage == Stage::node && on_node) return *on_node;
  base::Tree settings = subject.cluster.patches.kubelet;
  if (on_node)
    for (const char* key : {"evictionHard", "mergeDefaultEvictionSettings", "imageGCHighThresholdPercent"})
      if (const base::Tree* value = on_node->find(key); value && !settings.find(key)) settings[key] = *value;
  return settings;
}

bool has_threshold_flags(const Subject& subject) {
  std::string flags = subject.facts.kubernetes.kubelet_flags;
  for (const std::string& flag : subject.cluster.kubelet_extra_args) flags += " " + flag;
  return std::ranges::any_of(
      std::array<std::string_view, 3>{"--eviction-hard", "--image-gc-high-threshold", "--config-dir"},
      [&](std::string_view name) { return flags.contains(name); });
}

std::string eviction_threshold(const base::Tree& settings, const EvictionSignal& signal) {
  const base::Tree* hard = settings.find("evictionHard");
  if (const base::Tree* written = hard ? hard->find(signal.name) : nullptr) return written->text();
  const base::Tree* merges = settings.find("mergeDefaultEvictionSettings");
  const bool given = hard && hard->is_map();
  return std::string(!given || (merges && merges->as_bool() == true) ? signal.fallback : "0%");
}

std::optional<double> share_of(std::string_view threshold, double whole) {
  if (!threshold.ends_with('%')) {
    const auto amount = kube::parse_quantity(threshold);
    return amount && whole > 0 ? std::optional(*amount / whole) : std::nullopt;
  }
  const auto number = base::to_real(threshold.substr(0, threshold.size() - 1));
  if (!number || !(*number >= 0 && *number <= 100)) return std::nullopt;
  return *number < 100 ? *number / 100 : 0;
}

double image_deletion_percent(const base::Tree& settings) {
  constexpr double fallback = 85;
  const base::Tree* written = settings.find("imageGCHighThresholdPercent");
  const auto percent = written ? base::to_real(written->text()) : std::nullopt;
  return percent && *percent >= 0 && *percent <= 100 ? *percent : fallback;
}

}  // namespace checks
