#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/version.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace checks {

/// A minor version of Kubernetes, and the upgrade to it from the minor version before: a row of
/// kubernetes.csv.
struct Minor {
  base::Version etcd;                        ///< the line that kubeadm installs
  std::optional<base::Version> etcd_before;  ///< the oldest version of every member before the upgrade
  bool is_strict = false;                    ///< etcd_before is required; otherwise recommended
  int kubelet_lag = 0;  ///< by how many minor versions a kubelet may be older than the API server
  /// By containerd line, the oldest version that containerd's developers recommend; empty: not known.
  std::vector<base::Version> containerd;
  bool is_complete = true;  ///< all of its feature gates and kubelet flags are in the tables
};
using Minors = std::map<base::Version, Minor>;

/// Parses data/kubernetes.csv: consecutive minor versions, the oldest first. Fault::parse names the row.
[[nodiscard]] base::Result<Minors> read_minors(
    const std::function<base::Result<std::string>(std::string_view path)>& asset);

/// The row of a version, or nullptr if it is older or newer than the table.
[[nodiscard]] const Minor* minor_of(const Minors& minors, const base::Version& kubernetes);

/// By how many minor versions a kubelet may be older than this API server; of the nearest known version.
[[nodiscard]] int kubelet_lag(const Minors& minors, const base::Version& server);

/// The newest minor version whose feature gates and kubelet flags are all known.
[[nodiscard]] base::Version newest_complete(const Minors& minors);

}  // namespace checks
