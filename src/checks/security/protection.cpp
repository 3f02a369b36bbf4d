#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

constexpr double a_day = 86400;

/// "type=AVC msg=audit(1795262291.123:456): avc:  denied …"
std::optional<double> time_of(std::string_view record) {
  const std::size_t at = record.find("audit(");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = record.substr(at + 6);
  return base::to_real(rest.substr(0, rest.find(':')));
}

/// The value of a field of an audit record, without quotes; empty: it has none.
std::string field_of(const std::string& record, const std::string& name) {
  const std::size_t at = record.find(" " + name + "=\"");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 3;
  return base::printable(record.substr(begin, record.find('"', begin) - begin), 80);
}

/// Whether systemd could not execute the program of a unit: the file has a wrong label.
bool is_of_systemd(const std::string& record) {
  return record.contains("{ execute") && record.contains("scontext=system_u:system_r:init_t") &&
         !field_of(record, "name").empty();
}

void denials(const Subject& s, Verdicts& out) {
  if (!s.facts.security.selinux) return out.skip("SELinux is not enabled");
  if (!s.facts.security.selinux_denials) return out.unknown("/var/log/audit/audit.log could not be read");
  std::size_t recent = 0;
  std::string last;
  for (const std::string& record : *s.facts.security.selinux_denials) {
    const auto when = time_of(record);
    if (when && s.facts.clock.probe_begin && *s.facts.clock.probe_begin - *when > a_day) continue;
    ++recent;
    last = record;
  }
  if (recent > 0 && *s.facts.security.selinux == "enforcing" && is_of_systemd(last))
    return out.fail(Severity::warning,
                    fmt::format("SELinux does not let systemd execute {}", field_of(last, "name")),
                    fmt::format("{} records, the last: {}", recent, last.substr(0, 300)),
                    fmt::format("restorecon -v $(command -v {}): the label of the file is not that of a "
                                "program; then start its unit again",
                                base::quote(field_of(last, "name"))));
  if (recent > 0)
    out.fail(*s.facts.security.selinux == "enforcing" ? Severity::warning : Severity::note,
             "SELinux has denied container accesses today",
             fmt::format("{} records, the last: {}", recent, last.substr(0, 300)),
             "ausearch -m avc -ts today | audit2why; for GPUs: setsebool -P "
             "container_use_devices on");
}

void apparmor(const Subject& s, Verdicts& out) {
  if (s.facts.security.apparmor != true) return out.pass("AppArmor is not enabled");
  if (!has(s.facts.software.tools, "apparmor_parser"))
    return out.fail(
        Severity::note,
        "AppArmor is enabled, but its profiles cannot be loaded: containers run without a profile",
        "not in PATH: apparmor_parser", "@install-apparmor@, then: systemctl restart containerd");
  out.pass("AppArmor is on");
}

/// Chains of network plugins that accept packets from pods.
bool lets_pods_through(const facts::Firewall& firewall) {
  return std::ranges::any_of(firewall.rules, [](const std::string& rule) {
    if (!rule.starts_with("-A FORWARD ")) return false;
    for (const char* chain :
         {"FLANNEL-FWD", "CNI-FORWARD", "cali-FORWARD", "CILIUM_FORWARD", "WEAVE-NPC", "KUBE-ROUTER-FORWARD"})
      if (rule.find(chain) != std::string::npos) return true;
    return rule.ends_with("-j ACCEPT") && rule.find("-s ") != std::string::npos;
  });
}

/// Whether the table filter was read; skipped with the reason otherwise.
bool has_filter(const Subject& s, Verdicts& out) {
  const facts::Firewall& firewall = s.facts.network.firewall;
  if (!firewall.policies.empty()) return true;
  const bool idle = firewall.backend == "legacy" ? !has(firewall.legacy_tables, "filter")
                                                 : !is_loaded(s.facts, "nf_tables");
  if (!firewall.iptables)
    out.skip("iptables is not installed");
  else if (idle)
    out.pass("the kernel has no filter table");
  else
    out.unknown("the filter table could not be read");
  return false;
}

void forward_policy(const Subject& s, Verdicts& out) {
  if (!has_filter(s, out)) return;
  const auto& policies = s.facts.network.firewall.policies;
  const auto policy = policies.find("FORWARD");
  if (policy == policies.end()) return out.unknown("the policy of FORWARD could not be read");
  if (policy->second != "DROP") return out.pass("FORWARD is " + policy->second);
  if (lets_pods_through(s.facts.network.firewall))
    return out.pass("FORWARD is DROP, and the network plugin accepts packets of pods");
  const std::string_view forwards = spec::row_of(s.cluster.network.plugin).forwards;
  if (s.stage == Stage::preflight && !forwards.empty())
    return out.pass(fmt::format("FORWARD is DROP; {}", forwards));
  out.fail(Severity::warning, "packets between pods are dropped",
           "iptables: policy of FORWARD is DROP (Docker and ufw set it)",
           "iptables -P FORWARD ACCEPT, and the same at boot; or set \"iptables\": false in "
           "/etc/docker/daemon.json if the cluster does not use Docker");
}

/// "-A INPUT -j REJECT --reject-with icmp-host-prohibited": unconditional.
bool is_catch_all(std::string_view rule, std::string_view chain) {
  for (const std::string_view verdict : {"REJECT", "DROP"})
    if (const std::string start = fmt::format("-A {} -j {}", chain, verdict);
        rule == start || rule.starts_with(start + " "))
      return true;
  return false;
}

void unexpected_drops(const Subject& s, Verdicts& out) {
  if (!has_filter(s, out)) return;
  const facts::Firewall& firewall = s.facts.network.firewall;
  for (const char* chain : {"INPUT", "FORWARD"})
    for (const std::string& rule : firewall.rules)
      if (is_catch_all(rule, chain))
        out.fail(Severity::warning,
                 fmt::format("a rule in {} rejects all packets that no earlier rule accepts", chain), rule,
                 fmt::format(
                     "iptables -D {}, and remove it from /etc/iptables/rules.v4 or /etc/sysconfig/iptables",
                     rule.substr(3)));
}

void secure_boot(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (!s.facts.security.secure_boot) return out.skip("UEFI does not report Secure Boot");
  if (!*s.facts.security.secure_boot) return out.pass("Secure Boot is off");
  if (s.facts.nvidia.driver) return out.pass("Secure Boot is on, and the driver is loaded");
  if (s.facts.nvidia.driver_installed)
    return out.fail(gpu_severity(s),
                    "Secure Boot is on, and the installed driver is not loaded: its signature may be refused",
                    "version " + *s.facts.nvidia.driver_installed + " is installed",
                    "dmesg | grep -i 'key was rejected'; mokutil --import the key that signs it "
                    "(/var/lib/shim-signed/mok/MOK.der, "
                    "/var/lib/dkms/mok.pub), reboot and confirm at the console; or @signed-modules@");
  out.fail(Severity::note, "Secure Boot is on: the kernel will load only a driver with a known signature",
           "no driver is installed", "@signed-modules@");
}

/// Linux include/linux/security.h, lockdown_reason: confidentiality forbids everything that integrity does.
void lockdown(const Subject& s, Verdicts& out) {
  if (s.facts.security.lockdown == "confidentiality")
    return out.fail(Severity::note,
                    "the kernel is in lockdown mode confidentiality: kprobes, perf, and BPF programs that "
                    "read its memory fail",
                    "lockdown=confidentiality", "boot with lockdown=integrity on the kernel's command line");
  if (s.facts.security.lockdown == "integrity")
    return out.pass("integrity: unsigned modules are refused, and setpci cannot write");
  out.pass(s.facts.security.lockdown.empty() ? "no lockdown" : s.facts.security.lockdown);
}

void file_mask(const Subject& s, Verdicts& out) {
  const auto mask = s.facts.umask.empty() ? std::nullopt : base::to_int(s.facts.umask);
  if (!mask) return out.unknown("the file mode mask could not be read");
  // Octal digits: 0027, 0077 remove read permission from others.
  if ((*mask % 10) >= 4)
    return out.fail(Severity::note, "files that root creates cannot be read by other users",
                    "umask " + s.facts.umask,
                    "set umask 022 for root while software is installed (/etc/login.defs, /etc/profile)");
  out.pass(s.facts.umask);
}

constexpr std::array protection_rows = std::to_array<Check>({
    {"sec.selinux.denials", "SELinux has denied no container access today",
     "a denied device looks like a faulty one", "/sys/fs/selinux/enforce packages selinux-denials", node,
     denials},
    {"sec.apparmor.state", "AppArmor's profiles can be loaded", "containers need a profile",
     "/sys/module/apparmor/parameters/enabled tools", preflight, apparmor},
    {"sec.iptables.forward-policy", "packets are forwarded", "traffic between pods is forwarded",
     "iptables iptables-filter", preflight | node, forward_policy},
    {"sec.iptables.unexpected-drops", "no rule rejects all traffic", "some cloud images have such rules",
     "iptables iptables-filter", preflight | node, unexpected_drops},
    {"sec.secureboot.mok", "Secure Boot accepts the driver",
     "Secure Boot refuses modules without a known signature",
     "secure-boot kernel-log pci /proc/driver/nvidia/version", preflight | node, secure_boot},
    {"sec.lockdown", "tracing tools can read the kernel's memory", "tracing and profiling tools need it",
     "/sys/kernel/security/lockdown", preflight, lockdown},
    {"sec.umask-hardening", "files that root creates are readable by other users",
     "installed programs must be readable by their users", "/proc/self/status", preflight, file_mask},
});

}  // namespace

std::span<const Check> protection_checks() {
  return protection_rows;
}

}  // namespace checks
