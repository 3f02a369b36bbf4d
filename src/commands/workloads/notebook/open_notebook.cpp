#include "commands/workloads/notebook/open_notebook.hpp"

#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr std::chrono::seconds answer_timeout{20};

Result<base::Secret> read_token(ReachedCluster& cluster, const NotebookOptions& options) {
  const auto secrets =
      TRY(cluster.client().get({.kinds = {"secrets"},
                                .ns = options.ns,
                                .selector = workload::selector_of(workload::notebook_kind, options.name)}));
  const Tree* secret = object_of(secrets, "Secret");
  const auto token = secret ? base::from_base64(text_at(*secret, {"data", "token"})) : std::nullopt;
  // It becomes part of an address.
  const bool valid =
      token && !token->empty() &&
      token->find_first_not_of("0123456789abcdefABCDEFghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ_-") ==
          std::string::npos;
  if (!valid)
    return base::fail(
        Fault::remote,
        fmt::format("the token of the notebook {}/{} is missing or invalid", options.ns, options.name),
        fmt::format("kubectl -n {} get secret {}-token", options.ns, options.name));
  return base::Secret(*token);
}

/// "/" leads to the start page of the image: /lab, or /tree of older versions.
std::string url(const std::string& address, std::uint16_t port, const base::Secret& token) {
  return fmt::format("http://{}:{}/?token={}\n", base::in_brackets(address), port, token.reveal());
}

/// The address of the node that runs the pod; any node forwards the port.
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

struct Endpoint {
  std::string address, node;
  std::uint16_t port = 0, node_port = 0;
};

std::uint16_t port_of(const Tree* number) {
  const auto value = number ? number->as_int().value_or(0) : 0;
  return value > 0 && value <= 65535 ? static_cast<std::uint16_t>(value) : std::uint16_t{0};
}

Result<Endpoint> endpoint_of(const std::vector<Tree>& objects, const NotebookOptions& options) {
  const Tree* service = object_of(objects, "Service");
  Endpoint endpoint;
  if (service) {
    endpoint.address = text_at(*service, {"spec", "clusterIP"});
    if (const Tree* ports = service->at({"spec", "ports"}); ports && !ports->items().empty()) {
      endpoint.port = port_of(ports->items().front().find("port"));
      endpoint.node_port = port_of(ports->items().front().find("nodePort"));
    }
  }
  if (const Tree* pod = object_of(objects, "Pod")) endpoint.node = text_at(*pod, {"spec", "nodeName"});
  if (!base::Cidr::parse(endpoint.address) || endpoint.port == 0)
    return base::fail(
        Fault::remote,
        fmt::format("the Service of the notebook {}/{} has no address", options.ns, options.name),
        fmt::format("kubectl -n {} get service {}", options.ns, options.name));
  return endpoint;
}

}  // namespace

Result<Outcome> open_notebook(ReachedCluster& cluster, const NotebookOptions& options, std::uint16_t port,
                              Io& io) {
  const auto objects = TRY(find_notebook(cluster, options));
  const Endpoint end = TRY(endpoint_of(objects, options));
  const base::Secret token = TRY(read_token(cluster, options));
  if (end.node_port != 0) {
    io.out(url(TRY(node_address(cluster, end.node)), end.node_port, token));
    return Outcome::done;
  }
  if (cluster.host().endpoint.local) {
    io.out(url(end.address, end.port, token));
    return Outcome::done;
  }
  auto tunnel = TRY(cluster.connections().open_tunnel(cluster.host(), {end.address, end.port}, port));
  TRY(tunnel.check_http("/api", answer_timeout));
  io.out(url("127.0.0.1", tunnel.port(), token));
  if (io.err_style.verbosity != report::Verbosity::quiet)
    io.err(fmt::format("the tunnel through {} is open until Ctrl-C\n", base::printable(cluster.host().name)));
  TRY(cluster.connections().hold(tunnel));
  return Outcome::done;
}

}  // namespace commands
