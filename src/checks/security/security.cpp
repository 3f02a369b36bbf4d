#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <array>

namespace checks {

namespace {

std::string wanted_ports(const Subject& s) {
  std::string ports = is_control_plane(s) ? "TCP 6443, 2379-2380, 10250, 10257, 10259" : "TCP 10250";
  if (const auto more = spec::row_of(s.cluster.network.plugin).ports; !more.empty())
    ports += fmt::format(", {}", more);
  return ports + ", TCP 30000-32767";
}

void selinux(const Subject& s, Verdicts& out) {
  if (!s.facts.security.selinux) return out.pass("SELinux is not enabled");
  const auto policy = s.facts.software.packages.find("container-selinux");
  if (*s.facts.security.selinux == "enforcing" &&
      (policy == s.facts.software.packages.end() || !policy->second.installed))
    return out.fail(Severity::warning, "SELinux is enforcing without rules for containers",
                    "no package container-selinux",
                    "install container-selinux; for GPUs also: setsebool -P container_use_devices on");
  out.pass("SELinux is " + *s.facts.security.selinux);
}

void firewalld(const Subject& s, Verdicts& out) {
  if (is_active(s.facts, "firewalld.service"))
    out.fail(Severity::warning, "firewalld is active and may block the cluster", "firewalld.service runs",
             "open " + wanted_ports(s) +
                 " with firewall-cmd --permanent --add-port=…, or: systemctl disable --now firewalld");
}

void ufw(const Subject& s, Verdicts& out) {
  const facts::Firewall& firewall = s.facts.network.firewall;
  if (!firewall.ufw || !*firewall.ufw) return out.pass("ufw is not enabled");
  out.fail(Severity::warning, "ufw is active and may block the cluster",
           "ENABLED=yes" + (firewall.ufw_forward.empty() ? "" : ", forwarding " + firewall.ufw_forward),
           "set DEFAULT_FORWARD_POLICY=\"ACCEPT\" in /etc/default/ufw and allow " + wanted_ports(s) +
               ", or: ufw disable");
}

void iptables_backend(const Subject& s, Verdicts& out) {
  const facts::Firewall& firewall = s.facts.network.firewall;
  if (!firewall.iptables) return out.skip("iptables is not installed");
  if (firewall.backend == "nf_tables" && !firewall.legacy_tables.empty())
    return out.fail(Severity::warning, "rules of two iptables backends may be active at the same time",
                    fmt::format("iptables uses nf_tables, and the kernel has the legacy tables {}",
                                list(firewall.legacy_tables)),
                    "flush the rules in iptables-legacy-save, or select one backend with update-alternatives "
                    "--config iptables, then reboot");
  out.pass(fmt::format("iptables {} ({})", *firewall.iptables, firewall.backend));
}

void fapolicyd(const Subject& s, Verdicts& out) {
  if (is_active(s.facts, "fapolicyd.service"))
    out.fail(Severity::warning, "fapolicyd is active and may block network plugins", "fapolicyd.service runs",
             "add trust for /opt/cni/bin, /usr/bin/kubelet and containerd (fapolicyd-cli --file add), or "
             "stop the service");
}

constexpr std::array security_rows = std::to_array<Check>({
    {"sec.selinux.mode", "SELinux has rules for containers",
     "without them an enforcing host denies pods access to their files", "/sys/fs/selinux/enforce packages",
     preflight | node, selinux},
    {"sec.firewalld.active", "firewalld is not active", "a firewall can block traffic between nodes", "units",
     preflight | node, firewalld},
    {"sec.ufw.active", "ufw is not active", "a firewall can block traffic between nodes and between pods",
     "/etc/ufw/ufw.conf /etc/default/ufw units", preflight | node, ufw},
    {"sec.iptables.backend", "one iptables backend is in use",
     "rules of another backend are applied separately from kube-proxy's",
     "iptables /proc/net/ip_tables_names /proc/net/ip6_tables_names", preflight | node, iptables_backend},
    {"sec.fapolicyd", "fapolicyd is not active", "fapolicyd does not trust network plugins by default",
     "units", preflight, fapolicyd},
});

}  // namespace

std::span<const Check> security_checks() {
  return security_rows;
}

}  // namespace checks
