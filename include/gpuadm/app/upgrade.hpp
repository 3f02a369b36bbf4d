#pragma once

#include "gpuadm/app/app.hpp"

#include <string>

/// `gpuadm upgrade`: a newer Kubernetes on every node of a cluster, or what the nodes run pods with.
namespace app {

struct UpgradeOptions {
  Common common;
  Hosts hosts;
  std::string kubernetes_version;  ///< empty: the bundle's, else the cluster file's, else the catalog's
  std::filesystem::path bundle, bundle_signers;  ///< as for init
  int max_unavailable = 1;                       ///< workers that are upgraded at the same time
  int drain_timeout = 300;                       ///< seconds that the pods of a node have to leave it
  /// "newest", or what the version begins with; of a driver its branch. All empty: Kubernetes is upgraded.
  std::string runtime, toolkit, driver;
  Consent consent = Consent::ask;
  Rebooting reboots = Rebooting::done;
  Waiting waiting = Waiting::until_it_works;
  Format format = Format::text;
};
/// Control planes one at a time, then workers: drained, upgraded, Ready, and taking pods again.
/// Outcome::blocked where the cluster cannot go there; nothing was changed then. What was cut off is gone on
/// with.
[[nodiscard]] Result<Outcome> upgrade(const UpgradeOptions& options, Io& io);

}  // namespace app
