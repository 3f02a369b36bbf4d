#pragma once

#include "gpuadm/app/app.hpp"

#include <string>

/// `gpuadm upgrade`: a newer Kubernetes on every node of a cluster.
namespace app {

struct UpgradeOptions {
  Common common;
  Hosts hosts;
  std::string kubernetes_version;  ///< empty: the bundle's, else the cluster file's, else the catalog's
  std::filesystem::path bundle;
  int max_unavailable = 1;  ///< workers that are upgraded at the same time
  int drain_timeout = 300;  ///< seconds that the pods of a node have to leave it
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Control planes one at a time, then workers: drained, upgraded, Ready, and taking pods again.
/// Outcome::blocked where the cluster cannot go there; nothing was changed then. What was cut off is gone on
/// with.
[[nodiscard]] Result<Outcome> upgrade(const UpgradeOptions& options, Io& io);

}  // namespace app
