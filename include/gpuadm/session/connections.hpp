#pragma once

#include "gpuadm/base/interrupt.hpp"
#include "gpuadm/report/reporters.hpp"
#include "gpuadm/session/options.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <memory>

namespace session {

/// `read_only`: commands that change something are refused by the transport itself.
enum class Access { read_only, full };

/// The cluster that the command line asks about: the file, or one made of the targets, or this machine; the
/// command line's connection settings laid over it. Faults: usage (a target or name that is none), spec (the
/// file).
[[nodiscard]] Result<spec::Cluster> read_cluster(const Hosts& hosts, const Connection& connection);

/// What every fleet of one run shares: Ctrl-C, parsed keys, passwords asked once.
class Connections {
 public:
  /// Reads the sudo password file, if one is named. `cluster` and `io` must outlive this.
  [[nodiscard]] static Result<std::unique_ptr<Connections>> open(const spec::Cluster& cluster,
                                                                 const Connection& connection, Io& io);
  /// A fleet of all the cluster's hosts; nothing is connected before the first command. Must not outlive
  /// this.
  [[nodiscard]] std::unique_ptr<transport::Fleet> fleet(Access access);

 private:
  Connections(const spec::Cluster& cluster, transport::Options options, Io& io);
  const spec::Cluster& cluster_;
  base::Interrupt interrupt_;
  report::Write print_;  ///< lines between the results
  transport::SessionPtr session_;
};

}  // namespace session
