#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <array>

namespace checks {

namespace {

using facts::CgroupVersion;

/// The cluster file's setting, otherwise that of the host's kubelet.
bool fails_on_v1(const Subject& s) {
  const base::Tree* fails = s.cluster.patches.kubelet.find("failCgroupV1");
  const auto& on_host = s.facts.kubernetes.kubelet_config;
  if (!fails && on_host) fails = on_host->find("failCgroupV1");
  return !fails || fails->as_bool().value_or(true);
}

void version(const Subject& s, Verdicts& out) {
  if (s.facts.kernel.controllers.empty()) return out.unknown("cgroups could not be read");
  if (s.facts.kernel.cgroup == CgroupVersion::v2) return out.pass("cgroup v2");
  const std::string remedy =
      "boot with cgroup v2: add systemd.unified_cgroup_hierarchy=1 to the kernel's command line, update the "
      "boot loader, "
      "reboot";
  // KEP-5573: failCgroupV1 is true by default from 1.35 on. KEP-4569: maintenance mode from 1.31 on.
  if (kubernetes_from(s, 35) && fails_on_v1(s))
    return out.fail(Severity::blocker, fmt::format("the kubelet of {} refuses cgroup v1", minor_text(s)),
                    "/sys/fs/cgroup is v1", remedy + "; or set kubernetes.version to 1.34 or less");
  if (kubernetes_from(s, 35))
    return out.fail(Severity::note, "cgroup v1 is accepted only because failCgroupV1 is false",
                    "/sys/fs/cgroup is v1", remedy);
  if (kubernetes_from(s, 31))
    return out.fail(Severity::warning, "cgroup v1 is deprecated: Kubernetes 1.35 refuses it",
                    "/sys/fs/cgroup is v1", remedy);
  if (!s.kubernetes)
    return out.fail(Severity::warning, "cgroup v1 is in use: Kubernetes 1.35 and newer refuse it",
                    "/sys/fs/cgroup is v1", remedy);
  out.pass(fmt::format("cgroup v1, which {} accepts", minor_text(s)));
}

void controllers(const Subject& s, Verdicts& out) {
  if (s.facts.kernel.controllers.empty()) return out.unknown("cgroups could not be read");
  // kubernetes/system-validators validators/types_unix.go; devices and freezer are built into v2.
  static const std::vector<std::string> v1 = {"cpu",     "cpuacct", "cpuset", "devices",
                                              "freezer", "memory",  "pids"};
  static const std::vector<std::string> v2 = {"cpu", "cpuset", "memory", "pids"};
  std::vector<std::string> missing;
  for (const std::string& name : s.facts.kernel.cgroup == CgroupVersion::v2 ? v2 : v1)
    if (!has(s.facts.kernel.controllers, name)) missing.push_back(name);
  if (!missing.empty())
    out.fail(Severity::blocker, "cgroup controllers are missing: " + list(missing),
             "present: " + list(s.facts.kernel.controllers),
             "add cgroup_enable=memory to the kernel's command line if memory is missing; otherwise use a "
             "stock kernel");
}

void hybrid(const Subject& s, Verdicts& out) {
  if (s.facts.kernel.cgroup == CgroupVersion::hybrid)
    out.fail(Severity::warning, "cgroup v1 and v2 are mounted at the same time",
             "/sys/fs/cgroup/unified next to v1 controllers",
             "boot with systemd.unified_cgroup_hierarchy=1 (v2 alone)");
}

std::string swap_text(const Subject& s) {
  std::vector<std::string> areas;
  for (const facts::SwapArea& area : s.facts.kernel.swap.value_or(std::vector<facts::SwapArea>{}))
    areas.push_back(fmt::format("{} ({})", area.path, base::human_bytes(area.kib * 1024)));
  return list(areas);
}

/// Swap is enabled again at the next boot.
std::vector<std::string> swap_at_boot(const Subject& s) {
  std::vector<std::string> sources;
  if (!s.facts.kernel.swap_fstab.empty()) sources.emplace_back("/etc/fstab");
  if (s.facts.kernel.zram_generator) sources.emplace_back("zram-generator");
  if (is_active(s.facts, "zramswap.service")) sources.emplace_back("zramswap.service");
  return sources;
}

bool lacks_cgroup_v2(const Subject& s) {
  return s.facts.kernel.cgroup != CgroupVersion::v2;
}

/// Disables the swap that is there, and whatever enables it again at the next boot.
std::string swap_off(const Subject& s) {
  std::string text = "swapoff -a";
  const bool zram = s.facts.kernel.zram_generator;
  if (zram) text += "; touch /etc/systemd/zram-generator.conf (empty, it disables the one in /usr/lib)";
  if (is_active(s.facts, "zramswap.service")) text += "; systemctl disable --now zramswap";
  if (!s.facts.kernel.swap_fstab.empty() || !zram) text += "; remove swap from /etc/fstab";
  return text;
}

void swap_limits(const Subject& s, Verdicts& out, const std::string& areas) {
  // KEP-2400: NodeSwap since 1.22; since 1.28 on cgroup v2 only.
  if (kubernetes_before(s, 22))
    out.fail(
        Severity::warning, fmt::format("Kubernetes {} cannot limit a pod's swap", minor_text(s)), areas,
        "set `swap: keep` (which applies in any case), `swap: off`, or kubernetes.version 1.22 or newer");
  else if (lacks_cgroup_v2(s))
    out.fail(Severity::warning, "pods get no swap: limits need cgroup v2", areas,
             "boot with systemd.unified_cgroup_hierarchy=1, or set `swap: keep`");
  else
    out.fail(Severity::note, "swap is enabled and stays enabled; pods get a share of it", areas,
             "to disable swap, set `swap: off` in the cluster file");
}

void swap_on(const Subject& s, Verdicts& out) {
  // Since 1.30, with or without swap: https://github.com/kubernetes/kubernetes/pull/123738
  if (s.stage != Stage::node && s.cluster.swap == spec::Swap::limited && lacks_cgroup_v2(s) &&
      !kubernetes_before(s, 30))
    return out.fail(Severity::blocker,
                    "`swap: limited` needs cgroup v2: the kubelet refuses to run with it on cgroup v1",
                    fmt::format("Kubernetes {}, cgroup v1", minor_text(s)),
                    "boot with systemd.unified_cgroup_hierarchy=1, or set `swap: keep`");
  if (!s.facts.kernel.swap) return out.unknown("/proc/swaps could not be read");
  const std::string areas = swap_text(s);
  const auto later = swap_at_boot(s);
  if (s.facts.kernel.swap->empty() && (later.empty() || s.cluster.swap != spec::Swap::off))
    return out.pass("no swap");
  if (s.stage == Stage::node) {
    if (!s.facts.kernel.swap->empty() && !kubelet_accepts_swap(s))
      out.fail(Severity::blocker, "swap is enabled, and the kubelet refuses to run with swap", areas,
               swap_off(s) + "; or set failSwapOn: false in /var/lib/kubelet/config.yaml");
    else
      out.pass("swap is enabled, and the kubelet accepts it: " + areas);
    return;
  }
  if (s.cluster.swap == spec::Swap::off)
    return out.fail(Severity::warning,
                    s.facts.kernel.swap->empty() ? "swap is enabled again after a reboot" : "swap is enabled",
                    s.facts.kernel.swap->empty() ? list(later) : areas, "os.swap.off");
  if (!kubelet_accepts_swap(s))
    return out.fail(Severity::blocker,
                    "swap stays enabled, and patches.kubelet makes the kubelet refuse to run with swap",
                    areas, "remove failSwapOn from patches.kubelet, or set `swap: off`");
  if (s.cluster.swap == spec::Swap::limited) return swap_limits(s, out, areas);
  out.fail(Severity::note, "swap is enabled and stays enabled; the kubelet is configured to run with it",
           areas, "to disable swap, set `swap: off` in the cluster file");
}

constexpr std::array cgroup_rows = std::to_array<Check>({
    {"kernel.cgroup.version", "the kubelet accepts the cgroup version", "Kubernetes 1.35 refuses cgroup v1",
     "/sys/fs/cgroup/cgroup.controllers /proc/cgroups paths /var/lib/kubelet/config.yaml", preflight | node,
     version},
    {"kernel.cgroup.controllers", "the required cgroup controllers are present",
     "limits of pods depend on them", "/sys/fs/cgroup/cgroup.controllers /proc/cgroups paths",
     preflight | node, controllers},
    {"kernel.cgroup.hybrid", "one cgroup version is mounted",
     "the runtime and the kubelet may use different versions",
     "/sys/fs/cgroup/cgroup.controllers /proc/cgroups paths", preflight, hybrid},
    {"host.disk.swap-on", "swap is disabled, or the kubelet accepts it",
     "by default the kubelet does not start with swap enabled",
     "/proc/swaps /etc/fstab units /etc/systemd/zram-generator.conf "
     "/usr/lib/systemd/zram-generator.conf /var/lib/kubelet/config.yaml",
     preflight | node, swap_on},
});

}  // namespace

std::span<const Check> cgroup_checks() {
  return cgroup_rows;
}

}  // namespace checks
