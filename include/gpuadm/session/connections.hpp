#pragma once

#include "gpuadm/base/interrupt.hpp"
#include "gpuadm/report/reporters.hpp"
#include "gpuadm/session/options.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"
#include "gpuadm/transport/tunnel.hpp"

#include <memory>

namespace session {

/// `read_only`: the transport itself rejects commands that change something.
enum class Access { read_only, full };

/// The cluster of the command line: from the file, or created from the targets, or this machine; with the
/// command line's connection settings applied. Faults: usage (an invalid target or name), spec (the file).
[[nodiscard]] Result<spec::Cluster> read_cluster(const Hosts& hosts, const Connection& connection);

/// Shared by all fleets of one run: Ctrl-C, parsed keys, passwords.
class Connections {
 public:
  /// Reads the sudo password file, if one is given. `cluster` and `io` must outlive this.
  [[nodiscard]] static Result<std::unique_ptr<Connections>> open(const spec::Cluster& cluster,
                                                                 const Connection& connection, Io& io);
  /// A fleet of all hosts of the cluster; connects with the first command. Must not outlive this.
  [[nodiscard]] std::unique_ptr<transport::Fleet> fleet(Access access);
  /// A tunnel through a host of the cluster; see transport::open_tunnel. Must not outlive this.
  [[nodiscard]] Result<transport::Tunnel> open_tunnel(const spec::Host& host, const transport::TunnelEnd& end,
                                                      std::uint16_t port);
  /// Keeps a tunnel open until Ctrl-C.
  [[nodiscard]] Result<> hold(transport::Tunnel& tunnel) { return tunnel.hold(interrupt_); }

 private:
  Connections(const spec::Cluster& cluster, transport::Options options, Io& io);
  const spec::Cluster& cluster_;
  base::Interrupt interrupt_;
  report::Write print_;  ///< lines between the results
  transport::SessionPtr session_;
};

}  // namespace session
