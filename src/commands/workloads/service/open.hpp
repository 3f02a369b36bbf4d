#pragma once

#include "gpuadm/base/secret.hpp"
#include "gpuadm/transport/tunnel.hpp"

#include "commands/workloads/reach.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace commands {

/// Where the Service of a notebook or of a served model is reached.
struct ServiceEndpoint {
  std::string address;  ///< in the cluster
  std::string node;     ///< of a pod; empty: none
  std::uint16_t port = 0;
  std::uint16_t node_port = 0;  ///< 0: none
  std::string ns, name;         ///< of the Service
};
/// From the objects of find_service. Fault::remote if the Service has no address.
[[nodiscard]] Result<ServiceEndpoint> endpoint_of(const std::vector<base::Tree>& objects,
                                                  const NamedService& service);
/// The address of the node that runs the pod; any node forwards the node port.
[[nodiscard]] Result<std::string> node_address(ReachedCluster& cluster, const std::string& node);

/// The other end of its tunnel.
[[nodiscard]] transport::TunnelEnd tunnel_end(const ServiceEndpoint& endpoint);
/// "the tunnel through gpu1", for messages.
[[nodiscard]] std::string tunnel_name(ReachedCluster& cluster);

/// "127.0.0.1:4711"
[[nodiscard]] std::string with_port(const std::string& address, std::uint16_t port);

/// The value of a key of its Secret `NAME-token` or `NAME-key`, of letters and digits only. Fault::remote.
[[nodiscard]] Result<base::Secret> read_key(ReachedCluster& cluster, const NamedService& service,
                                            const std::string& key);

/// A Service that this machine reaches, by a tunnel if it must.
struct OpenService {
  std::string address;
  std::uint16_t port = 0;
  std::optional<transport::Tunnel> tunnel;
};
/// `port`: of the tunnel; 0: any that is free. `health`: a path that its web server answers.
[[nodiscard]] Result<OpenService> reach_endpoint(ReachedCluster& cluster, const ServiceEndpoint& endpoint,
                                                 std::uint16_t port, const std::string& health);

/// Keeps its tunnel open until Ctrl-C: opens it again on the same port after its connection was lost.
/// Fault::unreachable if that is not possible for ten minutes; the faults of open_tunnel that do not pass.
[[nodiscard]] Result<> keep_open(ReachedCluster& cluster, const ServiceEndpoint& endpoint, OpenService& open,
                                 Io& io);

/// How a Service is opened on this machine.
struct Opening {
  std::uint16_t port = 0;  ///< of the tunnel; 0: any that is free
  std::string health;      ///< a path that its web server answers
  /// What is printed, for an address with a port: "127.0.0.1:4711".
  std::function<std::string(const std::string& address)> show;
};
/// Prints how it is reached, and keeps a tunnel open until Ctrl-C if one is needed.
[[nodiscard]] Result<Outcome> open_service(ReachedCluster& cluster, const NamedService& service,
                                           const Opening& opening, Io& io);

}  // namespace commands
