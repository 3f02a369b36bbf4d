#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

/// How a node finds its control plane.
namespace checks {

namespace {

void apiserver_endpoint(const Subject& s, Verdicts& out) {
  const std::string& endpoint = s.cluster.control_plane.endpoint;
  const auto planes = std::ranges::count(s.cluster.hosts, spec::Role::control_plane, &spec::Host::role);
  const bool distinguishable = planes < std::ssize(s.cluster.hosts);
  // Without a worker, the hosts may be a list to check, and not a cluster.
  if (endpoint.empty() && planes > 1 && distinguishable)
    return out.fail(Severity::blocker, "several control planes have no common endpoint",
                    fmt::format("{} hosts with role control-plane, and no controlPlane.endpoint", planes),
                    "set controlPlane.endpoint to a load balancer or a virtual address");
  if (endpoint.empty()) return out.pass("the first host's own address");
  std::string host = endpoint.substr(0, endpoint.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  const auto address = base::Cidr::parse(host);
  const auto within = [&](std::string_view cidr) {
    const auto net = base::Cidr::parse(cidr);
    return address && net && net->contains(*address);
  };
  if (host == "localhost" || within("127.0.0.0/8") || within("::1/128"))
    return out.fail(Severity::blocker, "the endpoint is a loopback address or localhost", endpoint,
                    "set controlPlane.endpoint to an address that every node reaches");
  for (const auto& [key, cidr] : {std::pair{"network.podCIDR", s.cluster.network.pod_cidr},
                                  std::pair{"network.serviceCIDR", s.cluster.network.service_cidr}})
    if (within(cidr))
      out.fail(Severity::blocker, fmt::format("the endpoint is inside {}", key),
               fmt::format("{} is in {}", host, cidr),
               "set controlPlane.endpoint to an address outside the cluster");
}

void virtual_address(const Subject& s, Verdicts& out) {
  const std::string& address = s.cluster.control_plane.virtual_address;
  if (address.empty()) return out.not_applicable("the cluster has no virtual address");
  if (s.host.role != spec::Role::control_plane) return out.skip("a worker does not hold the virtual address");
  if (s.facts.network.all_addresses.empty()) return out.unknown("the host's addresses could not be read");
  if (const std::string link = facts::link_to(s.facts.network, address); !link.empty()) return out.pass(link);
  out.fail(Severity::blocker, "no interface is in the network of the virtual address",
           fmt::format("{}; the host has {}", address, s.facts.network.default_address),
           "set controlPlane.virtualAddress to a free address in the control planes' own network, or use a "
           "load balancer");
}

/// Addresses of the cluster's control plane that a kubelet may use.
std::set<std::string> undo_plans_to(const Group& group) {
  std::set<std::string> undo_plans;
  if (const std::string& endpoint = group.cluster.control_plane.endpoint; !endpoint.empty())
    undo_plans.insert(host_of(endpoint));
  for (const spec::Host& host : group.cluster.hosts) {
    const auto facts = group.hosts.find(host.name);
    if (host.role != spec::Role::control_plane || facts == group.hosts.end()) continue;
    undo_plans.insert(base::lower(facts->second->machine.hostname));
    for (const facts::Address& address : facts->second->network.all_addresses)
      undo_plans.insert(address.cidr.substr(0, address.cidr.find('/')));
    undo_plans.insert(host_of(facts->second->kubernetes.admin_server));
  }
  return undo_plans;
}

/// The first existing control-plane node, and its CA.
const spec::Host* with_authority(const Group& group) {
  for (const spec::Host& host : group.cluster.hosts) {
    const auto facts = group.hosts.find(host.name);
    if (host.role == spec::Role::control_plane && facts != group.hosts.end() &&
        facts->second->kubernetes.admin_conf && !facts->second->kubernetes.ca_sha256.empty())
      return &host;
  }
  return nullptr;
}

void one_cluster(const Group& group, Verdicts& out) {
  const std::set<std::string> undo_plans = undo_plans_to(group);
  const spec::Host* first = with_authority(group);
  const auto worker = [](const spec::Host& host) { return host.role == spec::Role::worker; };
  // Only control-plane nodes may be a list to check, and not a cluster.
  const bool distinguishable =
      !group.cluster.control_plane.endpoint.empty() || std::ranges::any_of(group.cluster.hosts, worker);
  int nodes = 0;
  for (const spec::Host& host : group.cluster.hosts) {
    const auto facts = group.hosts.find(host.name);
    if (facts == group.hosts.end() || (!worker(host) && !distinguishable)) continue;
    const facts::Kubernetes& node = facts->second->kubernetes;
    if (node.kubelet_server.empty()) continue;
    ++nodes;
    const bool other_authority = first && !node.ca_sha256.empty() &&
                                 node.ca_sha256 != group.hosts.at(first->name)->kubernetes.ca_sha256;
    if (other_authority || (worker(host) && !undo_plans.contains(host_of(node.kubelet_server))))
      out.fail(Severity::blocker, fmt::format("{} belongs to another cluster", host.name),
               fmt::format("{}{}", cluster_text(*facts->second),
                           other_authority ? ", whose CA is not that of " + first->name : ""),
               fmt::format("gpuadm reset {}{}; or correct controlPlane.endpoint", host.name,
                           has_foreign_cluster(*facts->second) ? " --force" : ""));
  }
  if (nodes > 0 && out.silent()) out.pass("every host that is a node belongs to this cluster");
}

struct Trouble {
  std::string_view contains, message, remedy;
};
constexpr std::array troubles = {
    Trouble{"certificate has expired", "a certificate between kubelet and API server has expired",
            "kubeadm certs check-expiration on the control plane; date on both hosts"},
    Trouble{"certificate is not yet valid", "the clocks of kubelet and API server differ",
            "timedatectl on both hosts, and correct the time synchronization"},
    Trouble{"certificate signed by unknown authority", "the kubelet trusts the CA of another cluster",
            "kubeadm reset -f, then join again with the output of kubeadm token create --print-join-command"},
    Trouble{"Unauthorized", "the API server does not accept the kubelet's credentials",
            "kubeadm token create --print-join-command on the control plane, then join again"},
    Trouble{"no such host", "the kubelet cannot resolve the API server's name",
            "add the name of controlPlane.endpoint to DNS or /etc/hosts"},
    Trouble{"no route to host", "the API server's host cannot be reached",
            "ip route get ADDRESS on this host; check firewalls"},
    Trouble{"i/o timeout", "the API server does not answer the kubelet",
            "check firewalls and routes to port 6443"},
    Trouble{"connection refused", "nothing answers at the API server's port",
            "crictl ps -a | grep kube-apiserver on the control plane"},
    Trouble{"TLS handshake timeout", "the API server is too slow to answer",
            "check its load, and the MTU of the path"},
};

void kubelet_bootstrap(const Subject& s, Verdicts& out) {
  const auto& kubernetes = s.facts.kubernetes;
  if (!kubernetes.kubelet_conf && !kubernetes.bootstrap_conf)
    return out.skip("the host has not joined a cluster");
  if (kubernetes.kubelet_log.empty())
    return s.facts.software.paths.contains("/var/lib/kubelet/pki/kubelet-client-current.pem")
               ? out.pass("the kubelet has its certificate")
               : out.unknown("the kubelet's journal could not be read");
  for (const Trouble& trouble : troubles)
    for (auto line = kubernetes.kubelet_log.rbegin(); line != kubernetes.kubelet_log.rend(); ++line)
      if (line->find(trouble.contains) != std::string::npos)
        return out.fail(Severity::blocker, std::string(trouble.message), *line, std::string(trouble.remedy));
  out.pass("the kubelet's journal shows no errors with the API server");
}

constexpr std::array join_rows = std::to_array<Check>({
    {"kubeadm.apiserver-endpoint", "every node can reach the control plane's endpoint",
     "it is written into every kubeconfig and certificate", "addresses routes environment /etc/environment",
     preflight, apiserver_endpoint},
    {"kubeadm.virtual-address", "every control plane can hold the virtual address",
     "it moves between control planes by ARP, within one network", "addresses routes", preflight,
     virtual_address},
    {"kubeadm.kubelet-bootstrap", "the kubelet can reach its API server",
     "without it the host never becomes a node", "kubelet-log paths units", node, kubelet_bootstrap},
    {"kubeadm.one-cluster", "hosts that are nodes already belong to this cluster",
     "a node has one control plane", "/etc/kubernetes/pki/ca.crt /etc/kubernetes/kubelet.conf paths",
     preflight, nullptr, one_cluster},
});

}  // namespace

std::span<const Check> join_checks() {
  return join_rows;
}

}  // namespace checks
