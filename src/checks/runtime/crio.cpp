#include "checks/queries.hpp"

#include <fmt/format.h>

#include <array>

namespace checks {

namespace {

/// CRI-O reads the drop-ins of /etc/crio/crio.conf.d (crio.conf.d(5)). nvidia-ctk 1.18 and 1.19 write to
/// /etc/crio/conf.d by default (nvidia-container-toolkit#1829), older ones change the file of --config.
std::string configure_crio(const facts::Facts& facts) {
  const auto version = base::Version::parse(facts.nvidia.ctk.value_or(""));
  const bool drop_in = !version || *version >= base::Version{1, 18, -1};
  return fmt::format("nvidia-ctk runtime configure --runtime=crio --{}=/etc/crio/crio.conf.d/99-nvidia.toml",
                     drop_in ? "drop-in-config" : "config");
}

void crio_config(const Subject& s, Verdicts& out) {
  if (!uses(s, spec::Engine::crio)) return out.not_applicable("the runtime is not CRI-O");
  if (!s.facts.runtime.crio) return out.skip("CRI-O is not installed");
  const facts::CrioConfig config = s.facts.runtime.crio_config.value_or(facts::CrioConfig{});
  if (!config.error.empty())
    return out.fail(Severity::blocker, "CRI-O's configuration cannot be read", config.error,
                    "correct the file, then: systemctl restart crio");
  const std::string manager = config.cgroup_manager.empty() ? "systemd" : config.cgroup_manager;
  if (manager != cgroup_driver(s))
    out.fail(Severity::blocker, "CRI-O and the kubelet use different cgroup drivers",
             fmt::format("cgroup_manager = {}; the kubelet uses {}", manager, cgroup_driver(s)),
             "set cgroup_manager in /etc/crio/crio.conf.d, drain, then restart crio and kubelet");
  const bool hook = s.facts.software.paths.contains("/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json");
  if (hook && !s.facts.nvidia.toolkit.cdi.empty())
    out.fail(Severity::warning, "the old NVIDIA hook and CDI both give containers the driver",
             "/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json",
             "rm /usr/share/containers/oci/hooks.d/oci-nvidia-hook.json && systemctl restart crio");
  std::string unread;
  for (const auto& [path, kind] : s.facts.software.paths)
    if (path.starts_with("/etc/crio/conf.d/") && path.contains("nvidia")) unread = path;
  if (has_gpu(s.facts) && s.facts.nvidia.ctk && !has(config.runtimes, "nvidia") &&
      s.facts.nvidia.toolkit.cdi.empty() && !hook)
    out.fail(Severity::warning, "CRI-O cannot give containers a GPU",
             unread.empty() ? "no runtime is called nvidia, and there is no CDI specification"
                            : unread + " is in a folder that CRI-O does not read",
             configure_crio(s.facts) + " && systemctl restart crio" +
                 (unread.empty() ? "" : fmt::format("; rm {}", unread)));
}

constexpr std::array crio_rows = std::to_array<Check>({
    {"rt.crio.config", "CRI-O's configuration is valid", "its cgroup driver must be the kubelet's",
     "crio /etc/crio/* paths nvidia-ctk", preflight | node, crio_config},
});

}  // namespace

std::span<const Check> crio_checks() {
  return crio_rows;
}

}  // namespace checks
