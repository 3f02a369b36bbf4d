#pragma once

#include "gpuadm/base/interrupt.hpp"
#include "gpuadm/transport/transport.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace transport {

/// The other end of a tunnel: an address that a host can reach.
struct TunnelEnd {
  std::string address;  ///< IPv4 or IPv6
  std::uint16_t port = 0;
  std::string ns, object;  ///< the same for `kubectl port-forward`: namespace, "service/anna"
};

struct TunnelState;

/// A TCP port on 127.0.0.1 of this machine from which connections are forwarded to an address that a host can
/// reach, by the system's OpenSSH client; or if the endpoint is a kubeconfig, to a Service by `kubectl
/// port-forward`. The program ends with this object.
class Tunnel {
 public:
  Tunnel(Tunnel&&) noexcept;
  Tunnel& operator=(Tunnel&&) noexcept;
  ~Tunnel();

  [[nodiscard]] std::uint16_t port() const;
  /// Whether a web server answers a GET of this path. Fault::unreachable, with its words; timeout.
  [[nodiscard]] Result<> check_http(const std::string& path, std::chrono::seconds timeout);
  /// Waits until Ctrl-C. Fault::unreachable if the connection is lost before.
  [[nodiscard]] Result<> hold(base::Interrupt& interrupt);

 private:
  friend Result<Tunnel> open_tunnel(Session&, const std::string&, const spec::Endpoint&, const TunnelEnd&,
                                    std::uint16_t, base::Interrupt&);
  explicit Tunnel(std::unique_ptr<TunnelState> state);
  std::unique_ptr<TunnelState> state_;
};

/// Opens a tunnel. Over SSH under the operator's ssh_config and the session's policy; keys only, as
/// there are no prompts. `port`: on this machine; 0: any that is free. Faults: usage (the port is in use),
/// unreachable, auth, host_key, interrupted.
[[nodiscard]] Result<Tunnel> open_tunnel(Session& session, const std::string& host,
                                         const spec::Endpoint& endpoint, const TunnelEnd& end,
                                         std::uint16_t port, base::Interrupt& interrupt);

}  // namespace transport
