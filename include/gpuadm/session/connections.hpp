#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/error.hpp"
#include "gpuadm/base/interrupt.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/report/reporters.hpp"
#include "gpuadm/session/options.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"
#include "gpuadm/transport/terminal.hpp"
#include "gpuadm/transport/tunnel.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace session {

using base::Result;

/// `read_only`: the transport itself rejects commands that change something.
enum class Access { read_only, full };

/// Namespace of the current context in a kubeconfig; "default" if it has none. Fault::usage if the file
/// cannot be read, is not a kubeconfig, or has a client certificate that has ended.
[[nodiscard]] Result<std::string> namespace_in_kubeconfig(const std::filesystem::path& file);

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
  /// Ctrl-C, for another wait of this run.
  [[nodiscard]] base::Interrupt& interrupt() { return interrupt_; }

 private:
  Connections(const spec::Cluster& cluster, transport::Options options, Io& io);
  const spec::Cluster& cluster_;
  base::Interrupt interrupt_;
  report::Write print_;  ///< lines between the results
  transport::SessionPtr session_;
};

/// The local program for a program on a host of the cluster; see transport::terminal_argv.
[[nodiscard]] std::vector<std::string> terminal_argv(const spec::Cluster& cluster, const spec::Host& host,
                                                     const transport::TerminalProgram& program);

/// A script that reads a host: an asset, and its variables.
struct Query {
  std::string label;  ///< what it does, for errors: "read the machine id"
  std::string asset;  ///< "playbooks/read/machine-id.sh"
  base::Variables variables = {};
  std::chrono::seconds timeout{60};
  bool api = false;  ///< see transport::Command
};

/// The text of a script, after the libraries whose functions it calls: playbooks/frame.sh, kubeconfig.sh,
/// gpu-users.sh, static-pods.sh, processes.sh, storage.sh and prelude.sh. Fault::bug if there is no such
/// asset.
[[nodiscard]] Result<std::string> script_of(const std::string& asset, const assets::Store& assets);

/// The program for it. Fault::bug if there is no such asset.
[[nodiscard]] Result<transport::Command> command_of(const Query& query, const assets::Store& assets);

/// Runs it on one host. A status other than 0 is an answer. Fault::interrupted after Ctrl-C.
[[nodiscard]] Result<transport::Exit> ask(const std::string& host, const Query& query,
                                          transport::Fleet& fleet, const assets::Store& assets);

/// The same for a program from another source. After Ctrl-C, the answer of a cleanup command is still
/// returned.
[[nodiscard]] Result<transport::Exit> ask(const std::string& host, transport::Command command,
                                          transport::Fleet& fleet);

/// Applies the presets of the cluster's region, and reads the login for its proxy from the operator's file.
/// Fault::spec or usage if one is invalid. Idempotent.
[[nodiscard]] base::Result<> resolve_environment(spec::Cluster& cluster, const assets::Store& assets);

/// Reads the key files of CephFS storages, which must be the operator's alone. Keys that are already set are
/// kept. Fault::usage with the key of the cluster file.
[[nodiscard]] base::Result<> read_storage_keys(spec::Cluster& cluster);

/// The arguments that a suggested command needs to select the same hosts, each preceded by a space and quoted
/// if necessary: " gpu1 -f cluster.yaml --user ubuntu". Empty: this machine.
[[nodiscard]] std::string typed(const Hosts& hosts, const Connection& connection);

/// " -f cluster.yaml" if the command line has a cluster file; otherwise empty.
[[nodiscard]] std::string file_option(const std::vector<std::string>& command);

}  // namespace session
