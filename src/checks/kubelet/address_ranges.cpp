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

constexpr std::array address_range_rows = std::to_array<Check>({
    {"kubeadm.cidr-overlap", "pod, Service and host networks do not overlap",
     "an address in two networks reaches only one of them", "routes addresses", preflight, cidr_overlap},
});

}  // namespace

std::span<const Check> address_range_checks() {
  return address_range_rows;
}

}  // namespace checks
