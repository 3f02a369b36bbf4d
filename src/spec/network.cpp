#include "spec/network.hpp"

#include "gpuadm/base/network.hpp"

namespace spec {

namespace {

using base::Cidr;

/// The network under a key, or nothing where what stands there is none; `otherwise` where the key is missing.
std::optional<Cidr> network_at(const Tree* written, const std::string& otherwise) {
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
               "network.serviceCIDR", "kubeadm refuses others", problems);
  const bool own_node_mask = cluster.patches.cluster_configuration.find("controllerManager") != nullptr;
  if (!own_node_mask)
    judge_prefix(pod_key, *pods, pods->v6 ? 48 : 8, pods->v6 ? 64 : 24, "network.podCIDR",
                 "each node takes a part of it", problems);

  const Tree* place = pod_key ? pod_key : service_key;
  if (!place) return;
  if (pods->v6 != services->v6)
    problems.add(place->mark, "network: podCIDR and serviceCIDR must both be IPv4 or both be IPv6");
  if (pods->overlaps(*services))
    problems.add(place->mark, fmt::format("network: podCIDR {} and serviceCIDR {} overlap", pods->text(),
                                          services->text()));
}

}  // namespace spec
