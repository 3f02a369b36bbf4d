#pragma once

#include "gpuadm/app/app.hpp"

#include <string>
#include <vector>

/// A cluster of several hosts: what becomes of it after the first node.
namespace app {

/// `gpuadm apply`: init with every host of a cluster file.
[[nodiscard]] Result<Outcome> apply(const InitOptions& options, Io& io);

/// `gpuadm diff`: what apply would do, as its dry run shows it. Outcome::failed where that is anything.
[[nodiscard]] Result<Outcome> diff(const InitOptions& options, Io& io);

struct JoinOptions {
  InitOptions init;             ///< its targets are the hosts that join
  std::string to;               ///< a control plane, where no file is named: [user@]host[:port]
  std::string role = "worker";  ///< or control-plane; without a file
};
/// Makes hosts nodes of a cluster that runs. With a file: what the others know of each other is brought up to
/// date, too.
[[nodiscard]] Result<Outcome> join(const JoinOptions& options, Io& io);

struct RemoveOptions {
  Common common;
  Hosts hosts;     ///< its targets are the hosts that leave
  std::string to;  ///< a control plane that stays, where no file is named
  bool force = false;
  bool keep_images = false, keep_driver = false;
  int drain_timeout = 300;  ///< seconds for a node's pods to go
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Takes hosts out of their cluster: drained, out of etcd, deleted; then what gpuadm did to them is taken
/// back, as reset does. One that cannot be reached is forgotten by the cluster with `force`.
[[nodiscard]] Result<Outcome> remove(const RemoveOptions& options, Io& io);

struct AdoptOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path output;  ///< the cluster file, which is not there yet; empty: printed
  std::filesystem::path bundle;  ///< for the drift of a cluster that came from one
  bool record = false;           ///< keep it on the control plane, too, with `consent`
  Consent consent = Consent::ask;
};
/// Reads a cluster, whoever made it, or a host where that was cut off, back into the cluster file that would
/// have made it, and lists what apply would still do (docs/reference/adopt.md). Changes nothing on hosts but
/// with `record`. Fault::spec where a cluster file cannot say what the cluster is.
[[nodiscard]] Result<Outcome> adopt(const AdoptOptions& options, Io& io);

}  // namespace app
