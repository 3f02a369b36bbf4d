#pragma once

#include "gpuadm/checks/checks.hpp"
#include "gpuadm/facts/cluster.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

/// Whether a cluster can be upgraded to a newer Kubernetes, and the order of its nodes. Pure.
namespace checks {

/// An upgrade. The roles of the cluster's hosts are their current ones.
struct Upgrade {
  const spec::Cluster& cluster;
  const facts::Census& census;
  const facts::ClusterFacts& facts;
  base::Version to;  ///< including the patch version
  /// Nodes that are upgraded regardless of their kubelet, with Kubernetes unchanged. Nothing: nodes with an
  /// older kubelet are.
  std::optional<std::set<std::string>> only = {};
};

/// The node of a host of the cluster, or nullptr.
[[nodiscard]] const facts::Node* node_of(const Upgrade& upgrade, const std::string& host);

/// The obstacles, each with a remedy: blockers are "upgrade.minor", "upgrade.downgrade", "upgrade.skew",
/// "upgrade.ready", "upgrade.quorum", "upgrade.etcd", "upgrade.hosts", "upgrade.pods", "upgrade.runtime",
/// "upgrade.taint-rules"; "upgrade.apis" is a warning, as is "upgrade.etcd" if etcd only recommends it.
/// Empty: none.
[[nodiscard]] std::vector<report::Finding> examine_upgrade(const Upgrade& upgrade, const Data& data);

/// Whether pods can move to other nodes during the upgrade of a node: false if there is only one.
[[nodiscard]] bool drains(const facts::ClusterFacts& facts);

/// Batches of hosts that are upgraded together, in order: each control-plane node alone, then workers,
/// `unavailable` at a time.
[[nodiscard]] std::vector<std::vector<std::string>> upgrade_order(const spec::Cluster& cluster,
                                                                  int unavailable);

}  // namespace checks
