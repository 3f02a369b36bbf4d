#include "gpuadm/base/text.hpp"

#include "checks/lint.hpp"
#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

/// Before init, the cluster file is checked against the version to install; on a node, the installed kubelet.
std::optional<base::Version> judged_version(const Subject& s) {
  if (s.stage == Stage::preflight) return s.kubernetes;
  return s.facts.kubernetes.kubelet ? base::Version::parse(*s.facts.kubernetes.kubelet) : std::nullopt;
}

void fail_all(const std::vector<LintProblem>& problems, Verdicts& out) {
  for (const LintProblem& c : problems) out.fail(c.severity, c.message, c.evidence, c.remedy);
}

std::map<std::string, bool> gates_of(const Subject& s) {
  const auto& config = s.facts.kubernetes.kubelet_config;
  std::map<std::string, bool> gates;
  const base::Tree* tree = nullptr;
  if (s.stage == Stage::preflight) {
    gates = s.cluster.feature_gates;
    tree = s.cluster.patches.kubelet.find("featureGates");
  } else if (config) {
    tree = config->find("featureGates");
  }
  if (tree)
    for (const auto& [name, value] : tree->entries()) gates[name] = value.as_bool().value_or(true);
  return gates;
}

void feature_gates(const Subject& s, Verdicts& out) {
  const auto gates = gates_of(s);
  const auto version = judged_version(s);
  if (s.stage == Stage::preflight && version)
    if (const auto problem = lint_newer(*version, s.data)) return fail_all({*problem}, out);
  if (gates.empty()) return out.pass("no feature gates are set");
  if (!version) return out.unknown("the Kubernetes version is not known");
  fail_all(lint_gates(gates, *version, s.data), out);
}

void unknown_flags(const Subject& s, Verdicts& out) {
  std::vector<std::string> flags = s.cluster.kubelet_extra_args;
  if (s.stage == Stage::node) {
    flags.clear();
    // A separate value ("--v 2") is not a flag.
    for (const std::string_view word : base::words(s.facts.kubernetes.kubelet_flags))
      if (word.starts_with("--")) flags.emplace_back(word);
  }
  if (flags.empty()) return out.pass("no flags are set");
  const auto version = judged_version(s);
  if (!version) return out.unknown("the Kubernetes version is not known");
  auto problems = lint_flags(flags, *version, s.data);
  if (s.stage == Stage::node)
    for (auto& problem : problems)
      if (problem.remedy.starts_with("remove --"))
        problem.remedy +=
            " from /var/lib/kubelet/kubeadm-flags.env or /etc/default/kubelet, then: systemctl restart "
            "kubelet";
  fail_all(problems, out);
}

void service_active(const Subject& s, Verdicts& out) {
  if (!is_node(s, out)) return;
  const auto unit = s.facts.software.units.find("kubelet.service");
  if (unit == s.facts.software.units.end()) return out.unknown("the kubelet's unit could not be read");
  if (unit->second.active != "active")
    return out.fail(Severity::blocker, "the kubelet does not run",
                    "kubelet.service is " + unit->second.active + " (" + unit->second.sub + ")",
                    "journalctl -u kubelet -n 30, then: systemctl restart kubelet");
  // A kubelet that exits at startup is briefly active. RestartSec is 10 s in the unit of the Kubernetes
  // packages.
  constexpr double moment = 15;
  const facts::Unit& kubelet = unit->second;
  if (kubelet.restarts.value_or(0) >= 2) {
    if (!kubelet.since || !s.facts.kernel.uptime)
      return out.unknown(fmt::format(
          "the time of the last of {} restarts of kubelet.service could not be read", *kubelet.restarts));
    const double ago = std::max(0.0, *s.facts.kernel.uptime - *kubelet.since);
    if (ago < moment)
      return out.fail(Severity::blocker, "the kubelet restarts repeatedly",
                      fmt::format("systemd restarted kubelet.service {} times, last {:.0f} s ago",
                                  *kubelet.restarts, ago),
                      "journalctl -u kubelet -n 30, then: systemctl restart kubelet");
  }
  if (unit->second.enabled != "enabled")
    out.fail(Severity::warning, "the kubelet is not started after a reboot",
             "kubelet.service is " + unit->second.enabled, "systemctl enable kubelet");
}

void config_readable(const Subject& s, Verdicts& out) {
  if (!is_node(s, out)) return;
  const auto& kubernetes = s.facts.kubernetes;
  if (kubernetes.kubelet_config) return;
  out.fail(Severity::blocker, "the kubelet's configuration is missing or invalid",
           kubernetes.kubelet_config_error.empty() ? "no /var/lib/kubelet/config.yaml"
                                                   : kubernetes.kubelet_config_error,
           "kubeadm upgrade node phase kubelet-config, then: systemctl restart kubelet");
}

void cgroup_driver_match(const Subject& s, Verdicts& out) {
  if (!is_node(s, out)) return;
  const auto& config = s.facts.kubernetes.kubelet_config;
  if (!config) return out.unknown("the kubelet's configuration could not be read");
  const base::Tree* written = config->find("cgroupDriver");
  const std::string kubelet = written ? written->text() : "cgroupfs";
  std::string runtime;
  if (uses(s, spec::Engine::docker) && s.facts.runtime.docker)
    runtime = s.facts.runtime.docker->cgroup_driver.value_or("");
  if (uses(s, spec::Engine::containerd) && s.facts.runtime.containerd)
    if (const auto runc = s.facts.runtime.containerd->runtimes.find("runc");
        runc != s.facts.runtime.containerd->runtimes.end())
      runtime = runc->second ? "systemd" : "cgroupfs";
  if (runtime.empty()) return out.unknown("the runtime's cgroup driver could not be read");
  if (runtime != kubelet)
    out.fail(Severity::blocker, "the kubelet and the container runtime use different cgroup drivers",
             fmt::format("kubelet: {}, runtime: {}", kubelet, runtime),
             "drain the node, set cgroupDriver in /var/lib/kubelet/config.yaml or the runtime's driver, "
             "restart both");
}

void swap_policy(const Subject& s, Verdicts& out) {
  if (!is_node(s, out)) return;
  if (!s.facts.kernel.swap) return out.unknown("/proc/swaps could not be read");
  if (s.facts.kernel.swap->empty()) return out.pass("no swap");
  const auto& config = s.facts.kubernetes.kubelet_config;
  const base::Tree* behavior = config ? config->at({"memorySwap", "swapBehavior"}) : nullptr;
  if (behavior && behavior->text() == "LimitedSwap" && s.facts.kernel.cgroup != facts::CgroupVersion::v2)
    out.fail(Severity::warning, "LimitedSwap does nothing without cgroup v2",
             "swapBehavior: LimitedSwap on cgroup v1", "boot with systemd.unified_cgroup_hierarchy=1");
  if (!kubelet_accepts_swap(s))
    out.fail(Severity::blocker, "swap is enabled, and the kubelet is configured to refuse it",
             "failSwapOn is not false",
             "swapoff -a, or set failSwapOn: false in /var/lib/kubelet/config.yaml and restart the kubelet");
}

/// The first file by name is used; files with other extensions are ignored.
void cni_config(const Subject& s, Verdicts& out) {
  if (!is_node(s, out)) return;
  std::vector<std::string> configs;
  for (const std::string& name : s.facts.kubernetes.cni_configs)
    if (name.ends_with(".conflist") || name.ends_with(".conf") || name.ends_with(".json"))
      configs.push_back(name);
  if (configs.empty())
    return out.fail(Severity::blocker, "no pod network is set up: the node stays NotReady",
                    "no configuration in /etc/cni/net.d",
                    "install a network plugin, or: gpuadm init --phases network");
  std::ranges::sort(configs);
  if (configs.size() > 1)
    out.fail(Severity::warning, "several network plugins are configured, and only the first one is used",
             list(configs), "remove all but one from /etc/cni/net.d");
}

constexpr std::array kubelet_rows = std::to_array<Check>({
    {"kubelet.feature-gates", "the kubelet supports all its feature gates",
     "a kubelet with an unknown gate does not start", "paths /var/lib/kubelet/* /etc/default/kubelet kubelet",
     preflight | node, feature_gates},
    {"kubelet.unknown-flags", "the kubelet supports all its flags",
     "a kubelet with an unknown flag does not start",
     "paths /var/lib/kubelet/kubeadm-flags.env /etc/default/kubelet kubelet", preflight | node,
     unknown_flags},
    {"kubelet.service-active", "the kubelet runs", "nothing on a node works without it", "paths units", node,
     service_active},
    {"kubelet.config-readable", "the kubelet can read its configuration", "it does not start otherwise",
     "paths /var/lib/kubelet/config.yaml", node, config_readable},
    {"kubelet.cgroup-driver-match", "the kubelet and the runtime use the same cgroup driver",
     "pods fail when two managers share the cgroup tree",
     "paths /var/lib/kubelet/config.yaml containerd-dump /etc/containerd/config.toml docker-info "
     "/etc/crio/* /proc/1/comm",
     node, cgroup_driver_match},
    {"kubelet.swap-policy", "the kubelet's swap settings match the host",
     "by default it does not start with swap enabled", "paths /var/lib/kubelet/config.yaml /proc/swaps", node,
     swap_policy},
    {"net.cni-config-present", "one pod network is set up", "a node without one stays NotReady",
     "/etc/cni/net.d/ paths", node, cni_config},
});

}  // namespace

std::span<const Check> kubelet_checks() {
  return kubelet_rows;
}

}  // namespace checks
