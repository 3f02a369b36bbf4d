#pragma once

#include "gpuadm/kube/pod.hpp"

/// What a control plane reports of one pod, or of the pods of a workload or controller, and of everything
/// that they depend on; without judgment.
namespace kube {

/// A pod of any namespace, with what it occupies.
struct PodUse {
  std::string ns, name, node, phase;
  std::string kind, workload;  ///< of gpuadm's labels: "notebook", "anna"; empty: none
  std::optional<double> started;
  Amounts requests;
  std::string ready, waiting;
  [[nodiscard]] bool is_active() const { return phase != "Succeeded" && phase != "Failed"; }
};

/// What the requested name means.
struct PodTarget {
  std::string what, kind, ns, name;  ///< what: "pod", "workload", "controller"; kind: "Pod", "Job"
};

struct PodOwner {
  std::string kind, name, owner_kind, owner, workload;
  std::optional<int> count;  ///< requested pods
  std::map<std::string, PodCondition> conditions;
  std::optional<double> created;
  bool suspended = false;
  std::string label;  ///< gpuadm's label `kind`: "notebook", "serve", "train"; empty: none
  std::string queue;  ///< of Kueue, which admits the suspended Job; empty: none
};

struct PodEvent {
  std::string kind, name, type, reason, message;
  int count = 1;
  std::optional<double> first, last;
};

struct PodVolumeObject {
  std::string name, phase, claim, storage_class, path, nfs;  ///< claim: namespace/name
  std::vector<NodeTerm> node_terms;
  bool has_node_terms = false;
};

struct PodClaim {
  std::string name, volume, size;
};

/// std::optional = could not be read; an empty list = there are none.
struct PodView {
  std::optional<std::vector<PodUse>> uses;
  std::vector<PodTarget>
      targets;     ///< the objects with that name or label; several namespaces: it is ambiguous
  std::string ns;  ///< the namespace of the target; empty: none was selected
  std::optional<std::vector<Pod>> pods;
  std::optional<std::vector<PodOwner>> owners;
  std::optional<std::vector<PodEvent>> events;  ///< of the namespace, the oldest first
  std::optional<std::vector<PodVolumeObject>> volumes;
  std::optional<std::vector<PodClaim>> claims;
  facts::ClusterFacts cluster;
};

/// Parses the output of playbooks/cluster.sh with purpose=pod (docs/reference/cluster.md), like parse().
[[nodiscard]] base::Result<PodView> parse_pod_view(std::string_view output);

}  // namespace kube
