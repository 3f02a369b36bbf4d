#include "gpuadm/base/network.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using base::Cidr;

/// Whether the host or a gateway of its routes has an address in the network.
bool has_own_address(const Subject& s, const Cidr& net) {
  const auto is_in = [&](const std::string& address) {
    const auto one = Cidr::parse(address.substr(0, address.find('/')));
    return one && net.contains(*one);
  };
  return std::ranges::any_of(s.facts.network.all_addresses,
                             [&](const facts::Address& address) {
                               return !is_cni_link(address.link) && is_in(address.cidr);
                             }) ||
         std::ranges::any_of(s.facts.network.route_table, [&](const facts::Route& route) {
           return !route.gateway.empty() && !is_cni_link(route.link) && is_in(route.gateway);
         });
}

/// An existing network that the cluster's would hide. A wider one, such as that of a VPN, remains reachable
/// except for this part; it is another matter if the host itself or its gateway is in that part. Routes of a
/// prefix up to 1 are two halves of a default route (OpenVPN's redirect-gateway def1).
void overlap(const Subject& s, Verdicts& out, std::string_view key, const std::string& cidr) {
  const auto net = Cidr::parse(cidr);
  if (!net) return;
  for (const facts::Route& route : s.facts.network.route_table) {
    const auto other = Cidr::parse(route.destination);
    if (!other || other->prefix <= 1 || is_cni_link(route.link) || !net->overlaps(*other)) continue;
    const bool part = other->prefix < net->prefix && !has_own_address(s, *net);
    out.fail(part ? Severity::warning : Severity::blocker,
             part ? fmt::format("{} {} hides a part of a network of the host", key, cidr)
                  : fmt::format("{} {} overlaps a network of the host", key, cidr),
             fmt::format("the host has a route to {} by {}", route.destination, route.link),
             fmt::format("choose another {} in the cluster file, for example {}", key,
                         key == "network.podCIDR" ? "10.200.0.0/16" : "10.112.0.0/16"));
  }
}

/// Overlap between the two is checked when the cluster file is read.
void cidr_overlap(const Subject& s, Verdicts& out) {
  // In an existing cluster, routes to other nodes' pods belong to it.
  if (standing_of(s) == Standing::running) return;
  if (s.facts.network.route_table.empty()) return out.unknown("the host's routes could not be read");
  overlap(s, out, "network.podCIDR", s.cluster.network.pod_cidr);
  overlap(s, out, "network.serviceCIDR", s.cluster.network.service_cidr);
}

/// A pod network of a family in which the host has no address of its own reaches no other node.
void same_family(const Subject& s, Verdicts& out) {
  if (standing_of(s) == Standing::running) return out.pass("the cluster runs");
  bool four = false, six = false;
  for (const facts::Address& address : s.facts.network.all_addresses) {
    const auto own = Cidr::parse(address.cidr);
    if (!own || is_cni_link(address.link) || address.link == "lo" || address.cidr.starts_with("127.") ||
        address.cidr.starts_with("169.254.") || address.cidr.starts_with("fe80:") ||
        address.cidr.starts_with("::1/"))
      continue;
    (own->v6 ? six : four) = true;
  }
  if (!four && !six) return out.unknown("the host's addresses could not be read");
  const auto pods = Cidr::parse(s.cluster.network.pod_cidr);
  if (!pods || (pods->v6 ? six : four)) return;
  out.fail(
      Severity::blocker,
      fmt::format("the host has only {} addresses, and network.podCIDR is {}", six ? "IPv6" : "IPv4",
                  pods->v6 ? "IPv6" : "IPv4"),
      fmt::format("network.podCIDR: {}", s.cluster.network.pod_cidr),
      six ? "set network: { plugin: none, podCIDR: fd00:10:244::/56, serviceCIDR: fd00:10:96::/112 } and "
            "install "
            "a network plugin for IPv6; or give the host an IPv4 address"
          : "set network: { podCIDR: 10.244.0.0/16, serviceCIDR: 10.96.0.0/12 }, or give the host an IPv6 "
            "address");
}

constexpr std::array address_range_rows = std::to_array<Check>({
    {"kubeadm.cidr-overlap", "pod, Service and host networks do not overlap",
     "an address in two networks reaches only one of them", "routes addresses", preflight, cidr_overlap},
    {"kubeadm.address-family", "the host has an address of the pod network's family",
     "pods of an IPv4 network do not reach other nodes by IPv6", "addresses", preflight, same_family},
});

}  // namespace

std::span<const Check> address_range_checks() {
  return address_range_rows;
}

}  // namespace checks
