#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using facts::Link;

std::vector<const Link*> physical_links(const facts::Facts& facts) {
  std::vector<const Link*> links;
  for (const Link& link : facts.network.links)
    if (link.physical) links.push_back(&link);
  return links;
}

/// The link with the address that others use for the host.
const Link* primary_link(const facts::Facts& facts) {
  for (const facts::Address& address : facts.network.all_addresses) {
    if (address.cidr.substr(0, address.cidr.find('/')) != facts.network.default_address) continue;
    const auto link = std::ranges::find(facts.network.links, address.link, &Link::name);
    if (link != facts.network.links.end()) return &*link;
  }
  return nullptr;
}

void mtu_consistent(const Group& group, Verdicts& out) {
  std::map<int, std::vector<std::string>> sizes;
  for (const auto& [name, facts] : group.hosts)
    if (const Link* link = primary_link(*facts); link && link->mtu > 0) sizes[link->mtu].push_back(name);
  if (sizes.empty()) return out.unknown("the links of the hosts could not be read");
  if (sizes.size() == 1) return out.pass(fmt::format("{} on all hosts", sizes.begin()->first));
  std::vector<std::string> parts;
  for (const auto& [mtu, names] : sizes) parts.push_back(fmt::format("{} on {}", mtu, list(names)));
  out.fail(Severity::warning, "hosts have different MTUs: large packets are lost between them",
           base::join(parts, "; "),
           "ip link set LINK mtu SIZE on the differing hosts, and set it in their network configuration");
}

/// As network plugins name it: flannel.1 (with the number of the network), vxlan.calico, cilium_vxlan.
bool is_vxlan(const Link& link) {
  return link.name.starts_with("flannel.") || link.name.contains("vxlan");
}

/// A packet of the overlay has 50 bytes more (VXLAN over IPv4, RFC 7348 section 5: Ethernet, IP, UDP, VXLAN).
void overlay_mtu(const Subject& s, Verdicts& out) {
  constexpr int header = 50;
  const Link* below = primary_link(s.facts);
  if (below == nullptr || below->mtu <= 0) return out.unknown("the host's main link could not be read");
  for (const Link& link : s.facts.network.links)
    if (is_vxlan(link) && link.mtu > below->mtu - header)
      out.fail(Severity::warning,
               fmt::format("packets of pods do not fit into those of the host: {} has a larger MTU than {} "
                           "allows",
                           link.name, below->name),
               fmt::format("{} {}, {} {}; VXLAN needs {} bytes", link.name, link.mtu, below->name, below->mtu,
                           header),
               fmt::format("restart the network plugin's pod on this node, which sets its MTU to {}; or give "
                           "{} the MTU that the network has",
                           below->mtu - header, below->name));
  if (out.silent()) out.pass(fmt::format("{} on {}", below->mtu, below->name));
}

void timezones(const Group& group, Verdicts& out) {
  std::map<std::string, std::vector<std::string>> zones;
  for (const auto& [name, facts] : group.hosts)
    if (!facts->clock.utc_offset.empty()) zones[facts->clock.utc_offset].push_back(name);
  if (zones.empty()) return out.unknown("no host's time zone could be read");
  if (zones.size() == 1) return out.pass("UTC" + zones.begin()->first);
  std::vector<std::string> parts;
  for (const auto& [zone, names] : zones) parts.push_back(fmt::format("UTC{} on {}", zone, list(names)));
  out.fail(Severity::note, "hosts are in different time zones: their logs are hard to compare",
           base::join(parts, "; "), "timedatectl set-timezone UTC on every host");
}

/// eth0, eth1: in the order in which the kernel found them.
bool is_kernel_name(const std::string& name) {
  return name.starts_with("eth") && name.size() > 3 &&
         name.find_first_not_of("0123456789", 3) == std::string::npos;
}

void stable_names(const Subject& s, Verdicts& out) {
  const auto links = physical_links(s.facts);
  if (links.empty()) return out.unknown("links could not be read");
  std::vector<std::string> names;
  for (const Link* link : links)
    if (is_kernel_name(link->name)) names.push_back(link->name);
  if (names.size() > 1)
    return out.fail(Severity::note, "network interfaces may change their names at the next boot", list(names),
                    "remove net.ifnames=0 from the kernel's command line, or name them by MAC in "
                    "/etc/systemd/network/*.link");
  out.pass(fmt::format("{} interfaces", links.size()));
}

void network_manager(const Subject& s, Verdicts& out) {
  if (!is_active(s.facts, "NetworkManager.service")) return out.skip("NetworkManager does not run");
  const bool calico = has_cni(s.facts, "calico"), cilium = has_cni(s.facts, "cilium");
  const std::string link = calico ? "cali" : cilium ? "cilium" : "flannel";
  for (const std::string& device : s.facts.network.unmanaged_devices)
    if (device == "*" || device.find(link) != std::string::npos)
      return out.pass("not managed by it: " + device);
  out.fail(
      Severity::warning, "NetworkManager may change links of the pod network",
      fmt::format("no unmanaged-devices for {}*", link),
      "printf "
      "'[keyfile]\\nunmanaged-devices=interface-name:cni*;interface-name:flannel*;interface-name:veth*;"
      "interface-name:cali*;"
      "interface-name:tunl*;interface-name:vxlan.calico;interface-name:cilium*;interface-name:lxc*\\n' > "
      "/etc/NetworkManager/conf.d/kubernetes.conf && systemctl reload NetworkManager");
}

void networkd(const Subject& s, Verdicts& out) {
  if (!is_active(s.facts, "systemd-networkd.service")) return out.skip("systemd-networkd does not run");
  if (!has_cni(s.facts, "cilium")) return out.skip("Cilium is not the network plugin");
  std::vector<std::string> left;
  for (const char* key : {"ManageForeignRoutes", "ManageForeignRoutingPolicyRules"})
    if (const auto setting = s.facts.network.networkd.find(key);
        setting == s.facts.network.networkd.end() || (setting->second != "no" && setting->second != "false"))
      left.emplace_back(key);
  if (!left.empty())
    out.fail(Severity::note, "systemd-networkd removes Cilium's routes and rules when it restarts",
             list(left) + (left.size() == 1 ? " is not set to no" : " are not set to no"),
             "mkdir -p /etc/systemd/networkd.conf.d && printf "
             "'[Network]\\nManageForeignRoutes=no\\nManageForeignRoutingPolicyRules=no\\n' "
             "> /etc/systemd/networkd.conf.d/cilium.conf && systemctl restart systemd-networkd");
}

void time_server(const Subject& s, Verdicts& out) {
  if (!s.facts.clock.server) return out.skip("chrony is not installed or does not run");
  if (s.facts.clock.server->empty())
    return out.fail(Severity::note, "no time server answers chrony", "chronyc tracking: no reference",
                    "allow outgoing UDP 123, or set your own servers in /etc/chrony/chrony.conf; chronyc "
                    "sources lists them");
  out.pass(*s.facts.clock.server);
}

/// Errors a second, on average since boot.
constexpr double many_errors = 1.0;

void link_errors(const Subject& s, Verdicts& out) {
  if (!s.facts.kernel.uptime) return out.unknown("/proc/uptime could not be read");
  bool any = false;
  for (const Link* link : physical_links(s.facts)) {
    if (!link->errors) continue;
    any = true;
    if (static_cast<double>(*link->errors) > many_errors * std::max(3600.0, *s.facts.kernel.uptime))
      out.fail(
          Severity::warning, fmt::format("{} receives or sends damaged packets", link->name),
          fmt::format("{} errors in {} packets", *link->errors, link->packets.value_or(0)),
          fmt::format("replace the cable or the transceiver; ethtool -S {} shows the errors", link->name));
  }
  if (!any) out.unknown("the links' counters could not be read");
}

void link_speed(const Subject& s, Verdicts& out) {
  bool any = false;
  for (const Link* link : physical_links(s.facts)) {
    if (link->state != "up" || !link->speed) continue;
    any = true;
    if (link->duplex == "half")
      out.fail(
          Severity::warning, fmt::format("{} runs in half duplex", link->name),
          fmt::format("{} Mbit/s, half duplex", *link->speed),
          fmt::format(
              "enable autonegotiation on both ends: ethtool -s {} autoneg on, and the same on the switch",
              link->name));
    else if (*link->speed < 1000)
      out.fail(Severity::warning, fmt::format("{} is slow", link->name),
               fmt::format("{} Mbit/s", *link->speed),
               "replace the cable: one broken wire limits a 1000 Mbit/s link to 100 Mbit/s");
  }
  if (!any) out.skip("no link reports its speed");
}

/// The owner of links.
struct Plugin {
  const char* name;
  std::array<const char*, 3> links;  ///< prefixes of names
};
constexpr std::array plugins = {Plugin{"flannel", {"flannel", "cni0", ""}},
                                Plugin{"calico", {"cali", "vxlan.calico", "tunl0"}},
                                Plugin{"cilium", {"cilium_", "lxc_health", ""}},
                                Plugin{"weave", {"weave", "vethwe", ""}},
                                Plugin{"antrea", {"antrea-", "ovs-system", ""}},
                                Plugin{"kube-router", {"kube-bridge", "kube-dummy", ""}}};

void leftovers(const Subject& s, Verdicts& out) {
  if (s.facts.network.links.empty()) return out.unknown("links could not be read");
  std::vector<std::string> seen;
  for (const Plugin& plugin : plugins) {
    std::string found;
    for (const Link& link : s.facts.network.links)
      for (const char* start : plugin.links)
        if (*start && link.name.starts_with(start)) found = fmt::format("{} ({})", plugin.name, link.name);
    if (found.empty() && has_cni(s.facts, plugin.name))
      found = fmt::format("{} (/etc/cni/net.d)", plugin.name);
    if (!found.empty()) seen.push_back(found);
  }
  // Canal is Calico on flannel.
  const bool canal = has_cni(s.facts, "canal");
  if (seen.size() > 1 && !canal)
    return out.fail(
        Severity::warning,
        "parts of several network plugins are present: routes and rules of the old one stay in force",
        list(seen),
        "delete the old plugin's links (ip link delete LINK), remove its files from /etc/cni/net.d, and "
        "reboot");
  out.pass(seen.empty() ? "no network plugin" : list(seen));
}

void proxy_mode(const Subject& s, Verdicts& out) {
  if (!s.facts.kubernetes.kubelet_conf) return out.skip("the host is not a node");
  if (!s.facts.kubernetes.proxy_mode)
    return out.unknown("kube-proxy does not answer on port 10249, or another program replaces it");
  const base::Tree* wanted = s.cluster.patches.kube_proxy.find("mode");
  if (wanted && !wanted->text().empty() && wanted->text() != *s.facts.kubernetes.proxy_mode)
    return out.fail(Severity::warning, "kube-proxy does not run in the configured mode",
                    fmt::format("{} instead of {}", *s.facts.kubernetes.proxy_mode, wanted->text()),
                    "kubectl -n kube-system logs ds/kube-proxy; modules may be missing (kernel.module.ipvs)");
  out.pass(*s.facts.kubernetes.proxy_mode);
}

void nodeports(const Subject& s, Verdicts& out) {
  if (!s.facts.network.listeners) return out.unknown("listening ports could not be read");
  std::vector<std::string> others;
  for (const facts::Listener& listener : *s.facts.network.listeners) {
    const bool own = listener.process == "kube-proxy" || listener.process.starts_with("cilium") ||
                     listener.process.starts_with("calico");
    if (listener.port >= 30000 && listener.port <= 32767 && !own)
      others.push_back(
          fmt::format("{} ({})", listener.port, listener.process.empty() ? "?" : listener.process));
  }
  if (!others.empty())
    out.fail(Severity::note, "programs listen on ports of the NodePort range", list(others),
             "move them out of 30000-32767: a Service with that port takes over their connections");
}

constexpr std::array link_rows = std::to_array<Check>({
    {"net.nic-name-stable", "network interfaces keep their names",
     "the pod network is configured with an interface's name", "links /proc/cmdline ip-links", preflight,
     stable_names},
    {"net.networkmanager-cni", "NetworkManager does not manage the pod network",
     "it manages every link that is not excluded", "units /etc/NetworkManager/* /usr/lib/NetworkManager/*",
     preflight | node, network_manager},
    {"net.systemd-networkd-policies", "systemd-networkd keeps Cilium's routes and rules",
     "it removes routes and rules that it did not create",
     "units /etc/systemd/networkd.conf* /etc/cni/net.d/", preflight | node, networkd},
    {"net.ntp-port", "a time server answers", "the clock drifts without one", "chrony", preflight | node,
     time_server},
    {"net.link-errors", "links have no packet errors", "damaged packets are sent again", "link-values links",
     node, link_errors},
    {"net.link-speed", "links run at full speed", "a damaged cable reduces the speed", "link-values links",
     node, link_speed},
    {"net.cni-leftovers", "only one network plugin is present", "two plugins set conflicting routes",
     "links ip-links /etc/cni/net.d/", preflight | node, leftovers},
    {"net.kube-proxy-mode", "kube-proxy runs in the configured mode",
     "it uses another mode when modules are missing, and from 1.26 on does not start", "kube-proxy-mode",
     node, proxy_mode},
    {"net.nodeport-range-clash", "the NodePort range is free", "a program on such a port becomes unreachable",
     "listeners /proc/net/tcp /proc/net/tcp6", node, nodeports},
    {"net.mtu-consistent", "all hosts have the same MTU", "large packets are lost otherwise",
     "links ip-links", preflight | node, nullptr, mtu_consistent},
    {"net.overlay-mtu", "packets of pods fit into those of the host",
     "larger ones are lost, or sent in parts", "links ip-links addresses routes", node, overlay_mtu},
    {"host.time.timezone-mixed", "all hosts are in one time zone",
     "logs of hosts in one time zone can be compared", "clock", preflight | node, nullptr, timezones},
});

}  // namespace

std::span<const Check> link_checks() {
  return link_rows;
}

}  // namespace checks
