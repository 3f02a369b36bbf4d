#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/kube/quantity.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// One pod, as the API server describes it, typed; without judgment.
namespace kube {

/// A state of a container; `kind` is "waiting", "running", "terminated", or empty.
struct ContainerState {
  std::string kind, reason, message;
  int exit_code = 0;
  int signal = 0;
  std::optional<double> started, finished;
};

struct ContainerMount {
  std::string volume, path;
  bool is_read_only = false;
};

/// A probe of the kubelet, with the defaults of Kubernetes
/// (https://kubernetes.io/docs/reference/kubernetes-api/ workload-resources/pod-v1/#Probe); times in seconds.
struct Probe {
  std::string target;  ///< "GET :8080/health"; empty: there is none
  double delay = 0, period = 10, timeout = 1;
  int failures = 3;  ///< consecutive ones until it counts as failed
  /// The longest time that it may take until a container that never answers has failed.
  [[nodiscard]] double allowed() const { return delay + period * failures + timeout; }
};

struct Container {
  std::string name, image, command;  ///< command: its first word; empty: the image's own
  bool is_init = false;
  bool restarts_always = false;  ///< of an init container: a sidecar
  Amounts limits, requests;
  std::vector<ContainerMount> mounts;
  std::vector<std::string> configurations;  ///< "configmap/name", "secret/name" that its environment needs
  Probe liveness, readiness, startup;
  ContainerState state, last;
  int restarts = 0;
  bool ready = false, has_status = false;
  bool is_started = false;                     ///< its startup probe and its postStart hook have passed
  std::vector<std::string> log, previous_log;  ///< the last lines, without secrets
};

struct PodVolume {
  std::string name, kind;       ///< "hostPath", "nfs", "persistentVolumeClaim", "emptyDir"
  std::string source;           ///< path, server:path, image, or the name of the object
  std::string type;             ///< of a hostPath: "Directory"; of an emptyDir its medium: "Memory"
  std::optional<double> limit;  ///< of an emptyDir, in bytes
};

/// One requirement of a node selector term; `op`: In, NotIn, Exists, DoesNotExist, Gt, Lt.
struct NodeRequirement {
  std::string key, op;
  std::vector<std::string> values;
  bool is_field = false;  ///< of a field of the node, not of a label
};
/// All requirements must hold; an empty term matches no node.
using NodeTerm = std::vector<NodeRequirement>;

struct PodCondition {
  std::string status, reason, message;
};

struct Pod {
  bool has_spec = false;  ///< its specification was read; otherwise what it lacks is unknown
  std::string ns, name, node, phase, reason, message;
  std::string owner_kind, owner;
  std::map<std::string, std::string> labels, node_selector;
  std::vector<NodeTerm> node_terms;  ///< of the required node affinity: one of them must match
  bool has_node_terms = false;
  std::vector<facts::Toleration> tolerations;
  std::vector<std::string> gates;  ///< scheduling gates
  std::string scheduler, runtime_class, service_account;
  std::vector<std::string> pull_secrets;
  std::vector<Container> containers;  ///< init containers first
  std::vector<PodVolume> volumes;
  std::vector<std::string> claims;  ///< names of its ResourceClaims that exist; "" for one without an object
  std::vector<std::string> claim_templates;  ///< of its ResourceClaims; "" for one without a template
  std::map<std::string, PodCondition> conditions;
  std::string nominated_node;
  std::optional<double> created, started, deleted;  ///< deleted: the time by which it must have ended
  Amounts requests;                                 ///< of the whole pod, as the scheduler counts them
  [[nodiscard]] std::string full() const { return ns + "/" + name; }
};

/// A pod in the format of `kubectl get -o json`; missing parts are empty.
[[nodiscard]] Pod read_pod(const base::Tree& pod);

/// The node selector terms in the list of that name.
[[nodiscard]] std::vector<NodeTerm> read_node_terms(const base::Tree& terms);

}  // namespace kube
