#pragma once

#include "gpuadm/checks/checks.hpp"
#include "gpuadm/facts/cluster.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

/// Whether a cluster can become a newer Kubernetes, and in which order its nodes do. Pure.
namespace checks {

/// What is to be upgraded. The roles of the cluster's hosts are those that they have.
struct Upgrade {
  const spec::Cluster& cluster;
  const facts::Census& census;
  const facts::ClusterFacts& facts;
  base::Version to;  ///< with its patch
  /// Nodes that are touched whatever they run, and that Kubernetes stays as it is. Nothing: those of an older
  /// kubelet are.
  std::optional<std::set<std::string>> only = {};
};

/// The node of a host of the cluster, or nullptr.
[[nodiscard]] const facts::Node* node_of(const Upgrade& upgrade, const std::string& host);

/// What stands against it, each with what to type: blockers are "upgrade.minor", "upgrade.downgrade",
/// "upgrade.skew", "upgrade.ready", "upgrade.quorum", "upgrade.hosts", "upgrade.pods", "upgrade.runtime";
/// "upgrade.apis" is a warning. Empty: nothing does.
[[nodiscard]] std::vector<report::Finding> examine_upgrade(const Upgrade& upgrade);

/// Whether pods can go elsewhere while a node is upgraded: not where there is only one.
[[nodiscard]] bool drains(const facts::ClusterFacts& facts);

/// Hosts that are upgraded together, in their order: each control plane alone, then workers, `unavailable` at
/// a time.
[[nodiscard]] std::vector<std::vector<std::string>> upgrade_order(const spec::Cluster& cluster,
                                                                  int unavailable);

}  // namespace checks
