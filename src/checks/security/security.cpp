#include "gpuadm/base/network.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"
#include "checks/security/ports.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

namespace checks {

namespace {

/// In ufw's notation: "10250/tcp, 2379:2380/tcp".
std::string wanted_ports(const Subject& s) {
  return base::replace_all(fmt::format("{}, 30000-32767/tcp", fmt::join(ports_between_nodes(s), ", ")), "-",
                           ":");
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

// --- firewalld -----------------------------------------------------------------------------------------

using facts::FirewallZone;

/// firewalld's own definitions, lib/services of 1.3.3. In newer versions kube-control-plane has 10250/tcp,
/// too.
constexpr std::array service_ports = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"kube-apiserver", "6443/tcp"},
     {"etcd-client", "2379/tcp"},
     {"etcd-server", "2380/tcp"},
     {"kubelet", "10250/tcp"},
     {"kube-api", "10250/tcp"},
     {"kube-worker", "10250/tcp"},
     {"kubelet-worker", "10250/tcp"},
     {"kube-control-plane-secure", "6443/tcp 2379-2380/tcp"},
     {"kube-flannel", "8285/udp 8472/udp"},
     {"kube-control-plane", "6443/tcp 2379-2380/tcp"}});

/// "2379-2380/tcp" as the first and the last port, and the protocol.
struct PortRange {
  long long first = 0, last = -1;
  std::string_view protocol;
  explicit PortRange(std::string_view text) {
    const std::size_t slash = std::min(text.find('/'), text.size()), dash = text.substr(0, slash).find('-');
    first = base::to_int(text.substr(0, std::min(dash, slash))).value_or(0);
    last = dash == std::string_view::npos
               ? first
               : base::to_int(text.substr(dash + 1, slash - dash - 1)).value_or(-1);
    protocol = text.substr(std::min(slash + 1, text.size()));
  }
};

bool accepts(const FirewallZone& zone, std::string_view wanted) {
  if (zone.target == "ACCEPT") return true;
  std::vector<std::string_view> open(zone.ports.begin(), zone.ports.end());
  for (const std::string& service : zone.services)
    for (const auto& [name, ports] : service_ports)
      if (service == name) std::ranges::copy(base::words(ports), std::back_inserter(open));
  const PortRange range(wanted);
  long long port = range.first;
  for (; port <= range.last; ++port)
    if (std::ranges::none_of(open, [&](std::string_view text) {
          const PortRange one(text);
          return one.protocol == range.protocol && one.first <= port && port <= one.last;
        }))
      return false;
  return port > range.first;
}

/// The zone with a source that contains the address or network: sources take precedence over interfaces.
const FirewallZone* zone_of_source(const std::vector<FirewallZone>& zones, std::string_view source) {
  const auto wanted = base::Cidr::parse(source);
  const FirewallZone* best = nullptr;
  int longest = -1;
  for (const FirewallZone& zone : zones)
    for (const std::string& text : zone.sources)
      if (const auto one = base::Cidr::parse(text);
          wanted && one && one->contains(*wanted) && one->prefix > longest) {
        best = &zone;
        longest = one->prefix;
      }
  return best;
}

/// The zone that names the interface, otherwise the default zone.
const FirewallZone* zone_of_link(const facts::Firewall& firewall, std::string_view link) {
  const auto& zones = *firewall.zones;
  auto zone = std::ranges::find_if(zones, [&](const FirewallZone& one) { return has(one.interfaces, link); });
  if (zone == zones.end()) zone = std::ranges::find(zones, firewall.default_zone, &FirewallZone::name);
  return zone == zones.end() ? nullptr : &*zone;
}

bool accepts_all(const FirewallZone* zone) {
  return zone && zone->target == "ACCEPT";
}

/// Packets of pods: by their source, or by the links that they come from.
bool trusts_pods(const Subject& s, std::string_view cidr) {
  const facts::Firewall& firewall = s.facts.network.firewall;
  if (const FirewallZone* zone = zone_of_source(*firewall.zones, cidr)) return accepts_all(zone);
  const auto links = base::words(spec::row_of(s.cluster.network.plugin).links);
  if (links.empty()) return accepts_all(zone_of_link(firewall, {}));
  return std::ranges::all_of(
      links, [&](std::string_view link) { return accepts_all(zone_of_link(firewall, link)); });
}

bool is_of_pods(const Subject& s, std::string_view source) {
  const auto one = base::Cidr::parse(source);
  return one && std::ranges::any_of(base::split(s.cluster.network.pod_cidr, ','), [&](std::string_view cidr) {
           const auto pods = base::Cidr::parse(cidr);
           return pods && pods->contains(*one);
         });
}

/// The link with the address that other nodes connect to.
std::string outer_link(const Subject& s) {
  const auto& network = s.facts.network;
  const std::string& advertised = s.cluster.control_plane.advertise_address;
  std::string link;
  for (const facts::Address& address : network.all_addresses) {
    const std::string plain = address.cidr.substr(0, address.cidr.find('/'));
    if (is_control_plane(s) && !advertised.empty() && plain == advertised) return address.link;
    if (plain == network.default_address) link = address.link;
  }
  return link;
}

constexpr std::string_view or_without = "firewall-cmd --reload. Or: systemctl disable --now firewalld";

void firewalld_and_pods(const Subject& s, Verdicts& out) {
  for (const std::string_view cidr : base::split(s.cluster.network.pod_cidr, ','))
    if (!trusts_pods(s, cidr))
      out.fail(Severity::warning, "firewalld blocks packets of pods",
               fmt::format("no zone with the target ACCEPT has the source {}", cidr),
               fmt::format("firewall-cmd --permanent --zone=trusted --add-source={}; {}", cidr, or_without));
}

void firewalld_and_nodes(const Subject& s, Verdicts& out) {
  const facts::Firewall& firewall = s.facts.network.firewall;
  const bool routed = spec::row_of(s.cluster.network.plugin).routed;
  bool by_name = false;
  std::set<std::string> blocked, commands;
  for (const spec::Host& host : s.cluster.hosts) {
    const std::string& address = host.endpoint.address;
    const FirewallZone* zone = zone_of_source(*firewall.zones, address);
    if (!zone) zone = zone_of_link(firewall, outer_link(s));
    if (host.name == s.host.name || accepts_all(zone)) continue;
    if (!zone) return out.unknown("the zone of the interface to other nodes is unknown");
    by_name = by_name || !base::Cidr::parse(address);
    for (const std::string& port : ports_between_nodes(s)) {
      if (routed || accepts(*zone, port)) continue;
      blocked.insert(fmt::format("the zone {} does not accept {} from other nodes", zone->name, port));
      commands.insert(
          fmt::format("firewall-cmd --permanent --zone={} --add-port={}; ", base::quote(zone->name), port));
    }
    if (!routed) continue;
    blocked.insert(fmt::format("no zone with the target ACCEPT has the source {}, a node", address));
    commands.insert(fmt::format("firewall-cmd --permanent --zone=trusted --add-source={}; ", address));
  }
  if (blocked.empty()) return;
  // A source of a zone may contain the address behind a name.
  const bool by_address =
      routed || std::ranges::any_of(*firewall.zones, [&](const FirewallZone& zone) {
        return std::ranges::any_of(zone.sources, [&](const std::string& one) { return !is_of_pods(s, one); });
      });
  if (by_name && by_address)
    return out.unknown("firewalld has zones for addresses, and the cluster file has names of nodes");
  out.fail(Severity::warning, "firewalld blocks packets of other nodes",
           fmt::format("{}", fmt::join(blocked, "\n")),
           fmt::format("{}{}", fmt::join(commands, ""), or_without));
}

void firewalld(const Subject& s, Verdicts& out) {
  if (!is_active(s.facts, "firewalld.service")) return out.pass("firewalld is not active");
  if (!s.facts.network.firewall.zones)
    return out.unknown("firewalld is active, and its zones could not be read");
  firewalld_and_pods(s, out);
  firewalld_and_nodes(s, out);
  if (out.silent())
    out.pass(s.cluster.hosts.size() > 1 ? "firewalld accepts packets of pods and of other nodes"
                                        : "firewalld accepts packets of pods");
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
    {"sec.firewalld.active", "firewalld accepts packets of pods and of other nodes",
     "nodes do not join and pods do not reach each other otherwise", "units firewalld addresses",
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

std::vector<std::string> ports_between_nodes(const Subject& s) {
  std::vector<std::string> ports{"10250/tcp"};
  if (is_control_plane(s)) {
    ports.emplace_back("6443/tcp");
    if (std::ranges::count(s.cluster.hosts, spec::Role::control_plane, &spec::Host::role) > 1)
      ports.emplace_back("2379-2380/tcp");
  }
  const auto more = base::words(spec::row_of(s.cluster.network.plugin).ports);
  for (std::size_t i = 0; i + 1 < more.size(); i += 2)
    ports.push_back(fmt::format("{}/{}", more[i + 1], base::lower(more[i])));
  return ports;
}

std::span<const Check> security_checks() {
  return security_rows;
}

}  // namespace checks
