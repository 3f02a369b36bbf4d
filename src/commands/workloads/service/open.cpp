#include "commands/workloads/service/open.hpp"

#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/workloads/service/named.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr std::chrono::seconds answer_timeout{20};

std::uint16_t port_of(const Tree* number) {
  const auto value = number ? number->as_int().value_or(0) : 0;
  return value > 0 && value <= 65535 ? static_cast<std::uint16_t>(value) : std::uint16_t{0};
}

}  // namespace

transport::TunnelEnd tunnel_end(const ServiceEndpoint& endpoint) {
  return {endpoint.address, endpoint.port, endpoint.ns, "service/" + endpoint.name};
}

std::string tunnel_name(ReachedCluster& cluster) {
  return cluster.client().is_limited() ? "the tunnel of kubectl port-forward"
                                       : "the tunnel through " + base::printable(cluster.host().name);
}

std::string with_port(const std::string& address, std::uint16_t port) {
  return fmt::format("{}:{}", base::in_brackets(address), port);
}

Result<base::Secret> read_key(ReachedCluster& cluster, const NamedService& service, const std::string& key) {
  const auto secrets =
      TRY(cluster.client().get({.kinds = {"secrets"},
                                .ns = service.ns,
                                .selector = workload::selector_of(service.kind, service.name)}));
  const Tree* secret = object_of(secrets, "Secret");
  const auto token = secret ? base::from_base64(text_at(*secret, {"data", key})) : std::nullopt;
  // It becomes part of an address.
  const bool valid =
      token && !token->empty() &&
      token->find_first_not_of("0123456789abcdefABCDEFghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ_-") ==
          std::string::npos;
  if (!valid)
    return base::fail(Fault::remote,
                      fmt::format("the {} of the {} is missing or invalid", key, with_noun(service)),
                      fmt::format("kubectl -n {} get secret {}-{}", service.ns, service.name, key));
  return base::Secret(*token);
}

Result<std::string> node_address(ReachedCluster& cluster, const std::string& node) {
  const auto facts = TRY(cluster.client().read_nodes_and_pods());
  std::string any;
  if (facts.nodes)
    for (const facts::Node& one : *facts.nodes) {
      if (!base::Cidr::parse(one.address)) continue;
      if (one.name == node) return one.address;
      if (any.empty()) any = one.address;
    }
  if (!any.empty()) return any;
  return base::fail(Fault::remote, "the addresses of the nodes could not be read",
                    "kubectl get nodes -o wide");
}

Result<ServiceEndpoint> endpoint_of(const std::vector<Tree>& objects, const NamedService& options) {
  const Tree* service = object_of(objects, "Service");
  ServiceEndpoint endpoint;
  if (service) {
    endpoint.address = text_at(*service, {"spec", "clusterIP"});
    endpoint.ns = options.ns;
    endpoint.name = options.name;
    if (const Tree* ports = service->at({"spec", "ports"}); ports && !ports->items().empty()) {
      endpoint.port = port_of(ports->items().front().find("port"));
      endpoint.node_port = port_of(ports->items().front().find("nodePort"));
    }
  }
  if (const Tree* pod = object_of(objects, "Pod")) endpoint.node = text_at(*pod, {"spec", "nodeName"});
  if (!base::Cidr::parse(endpoint.address) || endpoint.port == 0)
    return base::fail(Fault::remote, fmt::format("the Service of the {} has no address", with_noun(options)),
                      fmt::format("kubectl -n {} get service {}", options.ns, options.name));
  return endpoint;
}

Result<OpenService> reach_endpoint(ReachedCluster& cluster, const ServiceEndpoint& endpoint,
                                   std::uint16_t port, const std::string& health) {
  OpenService open{endpoint.address, endpoint.port, std::nullopt};
  const spec::Endpoint& host = cluster.host().endpoint;
  if (host.local && host.kubeconfig.empty()) return open;
  open.tunnel = TRY(cluster.connections().open_tunnel(cluster.host(), tunnel_end(endpoint), port));
  TRY(open.tunnel->check_http(health, answer_timeout));
  open.address = "127.0.0.1";
  open.port = open.tunnel->port();
  return open;
}

Result<Outcome> open_service(ReachedCluster& cluster, const NamedService& service, const Opening& opening,
                             Io& io) {
  const auto objects = TRY(find_service(cluster, service));
  const ServiceEndpoint end = TRY(endpoint_of(objects, service));
  if (end.node_port != 0) {
    io.out(opening.show(with_port(TRY(node_address(cluster, end.node)), end.node_port)));
    return Outcome::done;
  }
  OpenService open = TRY(reach_endpoint(cluster, end, opening.port, opening.health));
  io.out(opening.show(with_port(open.address, open.port)));
  if (!open.tunnel) return Outcome::done;
  if (io.err_style.verbosity != report::Verbosity::quiet)
    io.err(fmt::format("{} is open until Ctrl-C\n", tunnel_name(cluster)));
  TRY(keep_open(cluster, end, open, io));
  return Outcome::done;
}

}  // namespace commands
