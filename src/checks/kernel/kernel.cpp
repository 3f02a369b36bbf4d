#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include "checks/kernel/limits.hpp"
#include "checks/queries.hpp"

#include <fmt/format.h>

#include <array>

namespace checks {

namespace {

using base::Version;

void version_min(const Subject& s, Verdicts& out) {
  const auto version = Version::parse(s.facts.kernel.release);
  if (!version) return out.unknown("the kernel's version could not be read");
  // kubernetes/system-validators: 5.4, 5.10, 5.15 and 6 or newer; current NVIDIA drivers require 4.15.
  if (*version < Version{4, 15, -1})
    return out.fail(Severity::blocker, "the kernel is too old", s.facts.kernel.release,
                    "use a release with a kernel of 5.4 or newer");
  const bool tried =
      version->major >= 6 ||
      (version->major == 5 && (version->minor == 4 || version->minor == 10 || version->minor == 15));
  if (!tried)
    return out.fail(Severity::note, "kubeadm is not tested on this kernel", s.facts.kernel.release,
                    "use kernel 5.4, 5.10, 5.15, 6.0 or newer");
  out.pass(s.facts.kernel.release);
}

/// kubernetes/system-validators validators/types_unix.go
constexpr std::array required = {"NAMESPACES",
                                 "NET_NS",
                                 "PID_NS",
                                 "IPC_NS",
                                 "UTS_NS",
                                 "CGROUPS",
                                 "CPUSETS",
                                 "MEMCG",
                                 "INET",
                                 "EXT4_FS",
                                 "PROC_FS",
                                 "NETFILTER_XT_TARGET_REDIRECT",
                                 "NETFILTER_XT_MATCH_COMMENT",
                                 "FAIR_GROUP_SCHED"};
constexpr std::array required_v2 = {"CGROUP_BPF", "CGROUP_PIDS", "CGROUP_SCHED"};

void config_required(const Subject& s, Verdicts& out) {
  const auto& config = s.facts.kernel.config;
  if (!config || config->empty())
    return out.unknown("the kernel's configuration could not be read: not in /boot or /proc/config.gz");
  std::vector<std::string> missing;
  const auto check = [&](const char* option) {
    const auto place = config->find(option);
    if (place == config->end() || (place->second != "y" && place->second != "m"))
      missing.emplace_back(option);
  };
  for (const char* option : required) check(option);
  if (s.facts.kernel.cgroup == facts::CgroupVersion::v2)
    for (const char* option : required_v2) check(option);
  if (!missing.empty())
    out.fail(Severity::blocker, "the kernel lacks options that Kubernetes needs", "CONFIG_" + list(missing),
             "use a kernel of the distribution");
}

/// Arch Linux and rolling kernels of others: the package of the new kernel replaces the folder of the running
/// one, so that nothing more can be loaded until a reboot. NixOS has no /lib/modules, and a container has
/// those of its image.
bool running_modules_are_gone(const facts::Facts& facts) {
  const facts::Kernel& kernel = facts.kernel;
  const auto& paths = facts.software.paths;
  return !kernel.release.empty() && !kernel.modules.empty() && kernel.modules_loadable.empty() &&
         paths.contains("/lib/modules") && !paths.contains("/lib/modules/" + kernel.release) &&
         facts.os.container.value_or("none") == "none";
}

/// Whether something is missing that would be loaded if it were there.
bool wants_modules(const Subject& s) {
  return !is_loaded(s.facts, "overlay") || !is_loaded(s.facts, "br_netfilter") ||
         (has_gpu(s.facts) && !s.facts.nvidia.driver);
}

void modules_folder(const Subject& s, Verdicts& out) {
  if (running_modules_are_gone(s.facts))
    return out.fail(
        wants_modules(s) ? Severity::blocker : Severity::warning,
        "the modules of the running kernel are gone, so that none can be loaded: an upgrade of the kernel "
        "replaced them",
        fmt::format("kernel {} runs; there is no /lib/modules/{}", s.facts.kernel.release,
                    s.facts.kernel.release),
        "reboot the host into the kernel that is installed");
}

/// Loaded passes; loadable is a step of init; unavailable blocks everything that requires it.
void module(const Subject& s, Verdicts& out, std::string_view name, std::string_view needed_for,
            std::string_view step) {
  if (is_loaded(s.facts, name)) return;
  if (s.facts.kernel.modules_loadable.empty() && s.facts.kernel.modules_builtin.empty())
    return out.unknown("the kernel's modules could not be read");
  if (!is_loadable(s.facts, name))
    return out.fail(
        Severity::blocker, fmt::format("the kernel has no module {}, which {} needs", name, needed_for),
        fmt::format("not loaded, not built in, not under /lib/modules/{}", s.facts.kernel.release),
        "@extra-modules@");
  if (s.stage == Stage::node || step.empty())
    return out.fail(step.empty() ? Severity::note : Severity::blocker,
                    fmt::format("the module {} is not loaded", name), "it can be loaded",
                    fmt::format("modprobe {}", name));
  out.fail(Severity::note, fmt::format("the module {} is not loaded yet", name), "it can be loaded",
           std::string(step));
}

void overlay(const Subject& s, Verdicts& out) {
  module(s, out, "overlay", "the container runtime", "os.modules.load");
}

void br_netfilter(const Subject& s, Verdicts& out) {
  if (s.cluster.network.plugin == spec::NetworkPlugin::none)
    return out.not_applicable("the network plugin is not installed by gpuadm; some need no bridge");
  module(s, out, "br_netfilter", "the pod network", "os.modules.load");
}

/// Loaded on first use by iptables and by the kernel itself.
void on_demand(const Subject& s, Verdicts& out, std::string_view name, std::string_view needed_for) {
  if (is_loadable(s.facts, name)) return;
  if (s.facts.kernel.modules_loadable.empty() && s.facts.kernel.modules_builtin.empty())
    return out.unknown("the kernel's modules could not be read");
  out.fail(Severity::warning,
           fmt::format("the kernel may have no module {}, which {} needs", name, needed_for),
           fmt::format("not loaded, not built in, not under /lib/modules/{}", s.facts.kernel.release),
           "@extra-modules@");
}

void conntrack_table(const Subject& s, Verdicts& out) {
  on_demand(s, out, "nf_conntrack", "kube-proxy");
}

void vxlan(const Subject& s, Verdicts& out) {
  const spec::NetworkPluginRow& plugin = spec::row_of(s.cluster.network.plugin);
  if (plugin.module != "vxlan") return out.not_applicable("the pod network does not use VXLAN");
  on_demand(s, out, plugin.module, plugin.name);
}

/// A parameter that must be 1. Before init a step sets it; on a node it must already be set.
void must_be_on(const Subject& s, Verdicts& out, const std::string& key, std::string_view effect) {
  if (s.facts.kernel.sysctls.empty()) return out.unknown("kernel parameters could not be read");
  const auto place = s.facts.kernel.sysctls.find(key);
  if (place != s.facts.kernel.sysctls.end() && place->second == "1") return;
  const std::string now = place == s.facts.kernel.sysctls.end() ? "not present" : place->second;
  if (s.stage == Stage::node)
    out.fail(Severity::blocker, fmt::format("{} is off: {}", key, effect), now,
             fmt::format("sysctl -w {}=1 | tee -a /etc/sysctl.d/99-gpuadm.conf", key));
  else
    out.fail(Severity::note, fmt::format("{} is not set yet", key), now, "os.sysctl.set");
}

void ip_forward(const Subject& s, Verdicts& out) {
  must_be_on(s, out, "net.ipv4.ip_forward", "packets between pods are dropped");
}

bool uses_ipv6(const Subject& s) {
  return s.cluster.network.pod_cidr.find(':') != std::string::npos ||
         s.cluster.network.service_cidr.find(':') != std::string::npos;
}

void ipv6_forward(const Subject& s, Verdicts& out) {
  if (!uses_ipv6(s)) return out.not_applicable("the cluster uses no IPv6");
  const auto place = s.facts.kernel.sysctls.find("net.ipv6.conf.default.forwarding");
  if (place == s.facts.kernel.sysctls.end() || place->second != "1")
    out.fail(
        Severity::blocker, "IPv6 packets are not forwarded",
        "net.ipv6.conf.default.forwarding = " + (place == s.facts.kernel.sysctls.end() ? "?" : place->second),
        "sysctl -w net.ipv6.conf.default.forwarding=1 | tee -a /etc/sysctl.d/99-gpuadm.conf");
}

void bridge_nf_call(const Subject& s, Verdicts& out) {
  if (s.cluster.network.plugin == spec::NetworkPlugin::none)
    return out.not_applicable("the network plugin is not installed by gpuadm; some need no bridge");
  must_be_on(s, out, "net.bridge.bridge-nf-call-iptables", "services do not reach pods on the same node");
}

void inotify(const Subject& s, Verdicts& out) {
  const auto value = [&](const char* key) {
    const auto place = s.facts.kernel.sysctls.find(key);
    return place == s.facts.kernel.sysctls.end() ? std::nullopt : base::to_int(place->second);
  };
  const auto instances = value("fs.inotify.max_user_instances"),
             watches = value("fs.inotify.max_user_watches");
  if (!instances || !watches) return out.unknown("the limits could not be read");
  if (*instances < 512 || *watches < 65536)
    out.fail(Severity::note,
             "the inotify limits are low: many pods on one node fail with 'too many open files'",
             fmt::format("max_user_instances {}, max_user_watches {}", *instances, *watches), raise_inotify);
}

constexpr std::array kernel_rows = std::to_array<Check>({
    {"kernel.version.min", "the kernel is new enough",
     "kubeadm and the NVIDIA driver do not support every kernel", "/proc/sys/kernel/osrelease", preflight,
     version_min},
    {"kernel.config.required", "the kernel has the options that kubeadm requires",
     "kubeadm's SystemVerification fails without them", "/boot/config-* /proc/config.gz paths", preflight,
     config_required},
    {"kernel.module.folder", "the modules of the running kernel are there",
     "a module that is not loaded yet is read from their folder",
     "paths /proc/modules /lib/modules/* container", preflight | node, modules_folder},
    {"kernel.module.overlay", "overlay file systems work", "the container runtime keeps images in them",
     "/proc/modules /lib/modules/* /sys/module/ /proc/filesystems paths", preflight | node, overlay},
    {"kernel.module.br-netfilter", "bridged packets pass through iptables",
     "kube-proxy's rules must see them", "/proc/modules /lib/modules/* /sys/module/ /proc/filesystems paths",
     preflight | node, br_netfilter},
    {"kernel.module.conntrack", "connections can be tracked", "kube-proxy needs it",
     "/proc/modules /lib/modules/* /sys/module/ /proc/filesystems paths", preflight, conntrack_table},
    {"kernel.module.vxlan", "VXLAN links can be created", "flannel builds the pod network from them",
     "/proc/modules /lib/modules/* /sys/module/ /proc/filesystems paths", preflight, vxlan},
    {"kernel.sysctl.ip-forward", "IPv4 packets are forwarded", "a node routes packets for its pods", "sysctl",
     preflight | node, ip_forward},
    {"kernel.sysctl.ipv6-forward", "IPv6 packets are forwarded", "a node routes packets for its pods",
     "sysctl", preflight | node, ipv6_forward},
    {"kernel.sysctl.bridge-nf-call", "bridged packets pass through iptables",
     "kube-proxy's rules must see them", "sysctl", preflight | node, bridge_nf_call},
    {"kernel.sysctl.inotify", "the inotify limits are high enough",
     "every container with a log uses some watches", "sysctl", preflight | node, inotify},
});

}  // namespace

std::span<const Check> kernel_checks() {
  return kernel_rows;
}

}  // namespace checks
