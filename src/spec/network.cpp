#include "spec/network.hpp"

#include "gpuadm/base/network.hpp"
#include "gpuadm/spec/network_plugins.hpp"

namespace spec {

namespace {

using base::Cidr;

/// The network under a key, or nothing if it is invalid or an address; `otherwise` if the key is missing.
std::optional<Cidr> network_at(const Tree* written, const std::string& otherwise) {
  if (written && written->text().find('/') == std::string::npos) return std::nullopt;
  return Cidr::parse(written ? written->text() : otherwise);
}

void judge_prefix(const Tree* written, const Cidr& cidr, int least, int most, const char* path,
                  const char* why, Problems& problems) {
  if (written && (cidr.prefix < least || cidr.prefix > most))
    problems.add(written->mark, fmt::format("{}: expected a prefix from /{} to /{}, got /{}: {}", path, least,
                                            most, cidr.prefix, why));
}

}  // namespace

void judge_networks(const Cluster& cluster, const Tree& file, Problems& problems) {
  const Tree* pod_key = file.at({"network", "podCIDR"});
  const Tree* service_key = file.at({"network", "serviceCIDR"});
  const auto pods = network_at(pod_key, cluster.network.pod_cidr);
  const auto services = network_at(service_key, cluster.network.service_cidr);
  if (!pods || !services) return;

  // kubeadm's limits (cmd/kubeadm/app/constants, apis/kubeadm/validation): services have at most 20 bits and
  // at least ten addresses; a node gets a /24 (IPv6: /64) of the pods' network, which may be split into at
  // most 2^16.
  judge_prefix(service_key, *services, services->v6 ? 108 : 12, services->v6 ? 124 : 28,
               "network.serviceCIDR", "kubeadm rejects others", problems);
  const bool own_node_mask = cluster.patches.cluster_configuration.find("controllerManager") != nullptr;
  if (!own_node_mask)
    judge_prefix(pod_key, *pods, pods->v6 ? 48 : 8, pods->v6 ? 64 : 24, "network.podCIDR",
                 "each node gets a part of it", problems);

  const Tree* place = pod_key ? pod_key : service_key;
  if (!place) return;
  if (pods->v6 != services->v6)
    problems.add(place->mark, "network: podCIDR and serviceCIDR must both be IPv4 or both be IPv6");
  // templates/flannel.yaml and playbooks/network.sh configure IPv4 networks only.
  if (pods->v6 && cluster.network.plugin != NetworkPlugin::none)
    problems.add(place->mark,
                 fmt::format("network.podCIDR: {} is IPv6, and gpuadm configures the network plugin {} for "
                             "IPv4 only: write an IPv4 network such as 10.244.0.0/16, or plugin: none and "
                             "install a network plugin for IPv6",
                             pods->text(), row_of(cluster.network.plugin).name));
  if (pods->overlaps(*services))
    problems.add(place->mark, fmt::format("network: podCIDR {} and serviceCIDR {} overlap", pods->text(),
                                          services->text()));
}

void complete_endpoint(Cluster& cluster) {
  ControlPlane& plane = cluster.control_plane;
  if (plane.virtual_address.empty() || !plane.endpoint.empty()) return;
  plane.endpoint = base::in_brackets(plane.virtual_address) + ":6443";
}

void judge_virtual_address(const Cluster& cluster, const Tree& file, Problems& problems) {
  const Tree* written = file.at({"controlPlane", "virtualAddress"});
  const std::string& address = cluster.control_plane.virtual_address;
  if (!written || address.empty()) return;
  const std::string& endpoint = cluster.control_plane.endpoint;
  std::string host = endpoint.substr(0, endpoint.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  if (endpoint.substr(endpoint.rfind(':') + 1) != "6443")
    problems.add(written->mark,
                 "controlPlane.virtualAddress: the port of controlPlane.endpoint must be 6443");
  if (Cidr::parse(host) && host != address)
    problems.add(
        written->mark,
        fmt::format("controlPlane.virtualAddress: {} is not the address of controlPlane.endpoint, {}",
                    address, host));
  if (address == cluster.control_plane.advertise_address)
    problems.add(written->mark,
                 "controlPlane.virtualAddress: must differ from controlPlane.advertiseAddress");
  for (const Host& host_at : cluster.hosts)
    if (host_at.endpoint.address == address)
      problems.add(written->mark,
                   fmt::format("controlPlane.virtualAddress: {} has this address", host_at.name));
}

}  // namespace spec
