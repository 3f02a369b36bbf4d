#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using base::Version;

/// The requested kube-proxy mode; empty: kube-proxy's default.
std::string proxy_mode(const Subject& s) {
  const base::Tree* mode = s.cluster.patches.kube_proxy.find("mode");
  return mode ? mode->text() : "";
}

void cni_min(const Subject& s, Verdicts& out) {
  const auto version = Version::parse(s.facts.kernel.release);
  if (!version) return out.unknown("the kernel's version could not be read");
  // docs.cilium.io system requirements; Kubernetes' documentation of kube-proxy's modes.
  const bool cilium = has_cni(s.facts, "cilium"), nftables = proxy_mode(s) == "nftables";
  if (!cilium && !nftables) return out.skip("neither Cilium nor kube-proxy's mode nftables is used");
  if (cilium && *version < Version{5, 10, -1})
    out.fail(Severity::warning, "the kernel is too old for Cilium", s.facts.kernel.release,
             "use a release with a kernel of 5.10 or newer");
  if (nftables && *version < Version{5, 13, -1})
    out.fail(
        Severity::blocker, "the kernel is too old for kube-proxy's mode nftables", s.facts.kernel.release,
        "use a release with a kernel of 5.13 or newer, or set patches: { kubeProxy: { mode: iptables } }");
}

/// kubernetes/system-validators validators/types_unix.go, the optional ones.
constexpr std::array optional_options = {"OVERLAY_FS", "CFS_BANDWIDTH", "CGROUP_HUGETLB", "SECCOMP",
                                         "SECCOMP_FILTER"};

void config_optional(const Subject& s, Verdicts& out) {
  const auto& config = s.facts.kernel.config;
  if (!config || config->empty())
    return out.unknown("the kernel's configuration could not be read: not in /boot or /proc/config.gz");
  std::vector<std::string> missing;
  for (const char* option : optional_options)
    if (!config->contains(option)) missing.emplace_back(option);
  if (!missing.empty())
    out.fail(Severity::note, "the kernel lacks features that pods may use", "CONFIG_" + list(missing),
             "use a kernel of the distribution if pods need limits of CPU time, huge pages or system calls");
}

/// A module that a selected component requires.
bool needs(const Subject& s, Verdicts& out, std::initializer_list<const char*> modules,
           std::string_view what) {
  if (s.facts.kernel.modules_loadable.empty() && s.facts.kernel.modules_builtin.empty()) {
    out.unknown("the kernel's modules could not be read");
    return false;
  }
  std::vector<std::string> missing;
  for (const char* module : modules)
    if (!is_loadable(s.facts, module)) missing.emplace_back(module);
  if (missing.empty()) return true;
  out.fail(Severity::warning, fmt::format("the kernel has no modules for {}", what), list(missing),
           "@extra-modules@");
  return false;
}

/// The modules of iptables that kube-proxy's rules use: pkg/proxy/iptables/proxier.go.
constexpr std::array proxy_matches = {"xt_comment", "xt_conntrack", "xt_mark", "xt_MASQUERADE"};

/// Whether the probe looked for the module: recordings of earlier versions name fewer.
bool names_any(const facts::Facts& facts, std::string_view stem) {
  const auto begins = [&](const std::string& name) { return name.starts_with(stem); };
  return std::ranges::any_of(facts.kernel.modules_loadable, begins) ||
         std::ranges::any_of(facts.kernel.modules_builtin, begins) ||
         std::ranges::any_of(facts.kernel.modules, begins);
}

void proxy_modules(const Subject& s, Verdicts& out) {
  const std::string mode =
      s.stage == Stage::node ? s.facts.kubernetes.proxy_mode.value_or(proxy_mode(s)) : proxy_mode(s);
  if (mode == "nftables") {
    if (names_any(s.facts, "nft_"))
      (void)needs(s, out, {"nf_tables", "nft_ct", "nft_masq", "nft_numgen"}, "kube-proxy's mode nftables");
    else
      (void)needs(s, out, {"nf_tables"}, "kube-proxy's mode nftables");
    return;
  }
  if (s.facts.kernel.modules_loadable.empty() && s.facts.kernel.modules_builtin.empty())
    return out.unknown("the kernel's modules could not be read");
  std::vector<std::string> missing;
  for (const char* module : proxy_matches)
    if (!is_loadable(s.facts, module)) missing.emplace_back(module);
  if (missing.empty()) return;
  // On a node, what is missing would have stopped it.
  out.fail(Severity::warning,
           fmt::format("the kernel lacks modules of iptables that kube-proxy needs: {}", list(missing)),
           fmt::format("not loaded, not built in, not in /lib/modules/{}", s.facts.kernel.release),
           "@extra-modules@; or, on Kubernetes 1.31 and newer: patches: { kubeProxy: { mode: nftables } }");
}

void ipvs(const Subject& s, Verdicts& out) {
  if (proxy_mode(s) != "ipvs") return out.skip("kube-proxy's mode is not ipvs");
  if (!needs(s, out, {"ip_vs", "ip_vs_rr", "ip_vs_wrr", "ip_vs_sh"}, "kube-proxy's mode ipvs")) return;
  if (kubernetes_from(s, 35))
    out.fail(Severity::note, "kube-proxy's mode ipvs is deprecated", "Kubernetes " + minor_text(s),
             "set patches: { kubeProxy: { mode: nftables } } where the kernel is 5.13 or newer");
}

void dm_thin(const Subject& s, Verdicts& out) {
  const auto& containerd = s.facts.runtime.containerd;
  if (!containerd || !containerd->dump) return out.skip("there is no readable configuration of containerd");
  bool used = false;
  for (const std::string_view line : base::lines(*containerd->dump)) {
    const std::string text = base::replace_all(std::string(base::trim(line)), "'", "\"");
    used = used || text == "snapshotter = \"devmapper\"";
  }
  if (!used) return out.skip("containerd does not use the devmapper snapshotter");
  needs(s, out, {"dm_thin_pool"}, "containerd's devmapper snapshotter");
}

constexpr std::array feature_rows = std::to_array<Check>({
    {"kernel.version.cni-min", "the kernel is new enough for the network plugin",
     "Cilium and nftables need newer kernels than kubeadm", "/proc/sys/kernel/osrelease /etc/cni/net.d/",
     preflight, cni_min},
    {"kernel.config.optional", "the kernel has the optional features that pods may use",
     "kubeadm warns about missing ones", "/boot/config-* /proc/config.gz paths", preflight, config_optional},
    {"kernel.module.ipvs", "kube-proxy's mode ipvs can work", "IPVS is a part of the kernel",
     "/proc/modules /lib/modules/* /sys/module/ /proc/filesystems paths", preflight, ipvs},
    {"kernel.module.kube-proxy", "the kernel has the modules of kube-proxy's mode",
     "its rules are refused without them",
     "/proc/modules /lib/modules/* /sys/module/ /proc/filesystems paths", preflight, proxy_modules},
    {"kernel.module.dm-thin", "the device mapper can store images",
     "containerd is configured to store them there",
     "/proc/modules /lib/modules/* /sys/module/ /proc/filesystems paths containerd-dump "
     "/etc/containerd/config.toml",
     preflight, dm_thin},
});

}  // namespace

std::span<const Check> feature_checks() {
  return feature_rows;
}

}  // namespace checks
