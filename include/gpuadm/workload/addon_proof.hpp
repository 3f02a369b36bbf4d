#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/kube/verdict.hpp"

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Whether add-ons work, from objects and from what they answer.
namespace workload {

/// How far the pods of an add-on are.
struct AddonState {
  bool ready = false;
  bool exists = false;  ///< it has a Deployment or a DaemonSet
  kube::Outlook outlook = kube::Outlook::waiting;
  std::string line;  ///< the first part that is not ready: "hub: waiting for a node"; or "ready"
  std::string why;   ///< what is wrong with it; empty: nothing
  std::string pod;   ///< its pod; empty: none
};
/// Of its Deployments, DaemonSets and pods. A DaemonSet without a node that suits it is ready.
[[nodiscard]] AddonState read_addon_state(std::span<const base::Tree> objects);
/// Nodes with a pod of a DaemonSet, and the pod: (node, pod), by node.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> pods_by_node(
    std::span<const base::Tree> objects);
/// Names of the nodes that are Ready, sorted.
[[nodiscard]] std::vector<std::string> ready_nodes(std::span<const base::Tree> nodes);

/// CPU and memory of a node from the metrics API (`/apis/metrics.k8s.io/v1beta1/nodes`), as it has them.
struct NodeUse {
  std::string node, cpu, memory;
};
/// Fault::parse for an answer that is not a list of node metrics.
[[nodiscard]] base::Result<std::vector<NodeUse>> read_node_metrics(std::string_view json);

/// The first line of a metric with a number, in Prometheus' text format: `NAME{…} 12.5`. Nothing: there is
/// none.
[[nodiscard]] std::optional<std::string> find_sample(std::string_view metrics, std::string_view name);

/// Targets of Prometheus, from /api/v1/targets.
struct ScrapeTargets {
  std::set<std::string> jobs;     ///< that have targets
  std::vector<std::string> down;  ///< "kubelet https://192.0.2.11:10250/metrics: connection refused"
  int up = 0, unknown = 0;        ///< unknown: not scraped yet
  /// The time of the last scrape of the target that was scraped first, and of the one that was scraped last:
  /// "2026-11-27T07:54:00", by the clock of Prometheus.
  std::string oldest, newest;
};
/// Fault::parse for another answer.
[[nodiscard]] base::Result<ScrapeTargets> read_targets(std::string_view json);
/// The first value of an instant query, /api/v1/query. Nothing: the query has no result. Fault::parse for
/// another answer.
[[nodiscard]] base::Result<std::optional<double>> read_query(std::string_view json);

/// What the proof of JupyterHub prints: one line of JSON after its own output.
struct HubProof {
  bool login = false;  ///< the user logged in by the form
  std::string pod, node, gpus;
  std::string failure;  ///< what failed; empty: nothing
};
/// Fault::parse for output without that line.
[[nodiscard]] base::Result<HubProof> read_hub_proof(std::string_view output);

}  // namespace workload
