#pragma once

#include "commands/app.hpp"

#include <string>
#include <vector>

/// Operations on clusters of several hosts.
namespace commands {

/// `gpuadm apply`: init with every host of a cluster file.
[[nodiscard]] Result<Outcome> apply(const InitOptions& options, Io& io);

/// `gpuadm diff`: prints what apply would change, as its dry run does. Outcome::failed if there is a
/// difference.
[[nodiscard]] Result<Outcome> diff(const InitOptions& options, Io& io);

struct JoinOptions {
  InitOptions init;             ///< its targets are the hosts that join
  std::string to;               ///< a control-plane node, if no file is given: [user@]host[:port]
  std::string role = "worker";  ///< or control-plane; without a file
};
/// Joins hosts to an existing cluster. With a file, also updates what the other nodes know of each other.
[[nodiscard]] Result<Outcome> join(const JoinOptions& options, Io& io);

struct RemoveOptions {
  Common common;
  Hosts hosts;     ///< its targets are the hosts to remove
  std::string to;  ///< a remaining control-plane node, if no file is given
  bool force = false;
  bool keep_images = false, keep_driver = false;
  int drain_timeout = 300;  ///< seconds for a node's pods to end
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Removes hosts from their cluster: drains them, removes their etcd members, deletes the nodes; then
/// restores the hosts, as reset does. With `force`, also removes the nodes of unreachable hosts.
[[nodiscard]] Result<Outcome> remove(const RemoveOptions& options, Io& io);

struct AdoptOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path output;  ///< new cluster file; empty: print it
  std::filesystem::path bundle;  ///< for the drift of a cluster that was installed from one
  bool record = false;           ///< also store it on the control plane, with `consent`
  Consent consent = Consent::ask;
};
/// Generates a cluster file from an existing cluster, also from an interrupted installation, and lists what
/// apply would still change (docs/reference/adopt.md). Changes hosts only with `record`. Fault::spec if a
/// cluster file cannot describe the cluster.
[[nodiscard]] Result<Outcome> adopt(const AdoptOptions& options, Io& io);

}  // namespace commands
