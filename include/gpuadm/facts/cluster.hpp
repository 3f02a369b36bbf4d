#pragma once

#include "gpuadm/base/error.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The state that a control plane reports of its cluster, typed; without judgment.
namespace facts {

struct Condition {
  std::string status, reason;  ///< "True", "KubeletReady"
};

struct Taint {
  std::string key, value, effect;
};

struct Toleration {
  std::string key, op, value, effect;  ///< an empty key tolerates all
};

struct Node {
  std::string name;
  std::map<std::string, std::string> labels;
  std::vector<Taint> taints;
  bool unschedulable = false;
  std::string pod_cidr, address, message;  ///< message: of the condition Ready
  std::map<std::string, Condition> conditions;
  std::map<std::string, std::string> capacity, allocatable;  ///< "nvidia.com/gpu" -> "8"
  std::string kubelet, runtime, os, kernel;                  ///< versions in nodeInfo
  std::string upgrade;    ///< gpuadm's annotation during an upgrade of the node: see playbooks/upgrade.sh
  std::string gpu_reset;  ///< gpuadm's annotation during the reset of a GPU: see playbooks/gpu-reset.sh
};

struct Pod {
  std::string ns, name, owner, node, phase;  ///< owner: kind of its controller
  std::string runtime_class;
  std::map<std::string, long long> gpus;       ///< limits of resources of nvidia.com
  std::vector<std::string> rdma;               ///< resources of rdma/ in its limits
  std::vector<std::string> waiting;            ///< reasons of waiting containers, init containers first
  std::vector<std::string> crashed;            ///< reasons of ended containers, except "Completed"
  int restarts = 0;                            ///< the maximum over its containers
  std::vector<std::string> ended;              ///< why containers ended last: "OOMKilled"
  std::string visible_devices;                 ///< NVIDIA_VISIBLE_DEVICES
  std::string reason, waits_for, unscheduled;  ///< of the status, of a waiting container, of PodScheduled
  std::string ready;                           ///< status of the condition Ready: "True"
  [[nodiscard]] std::string full() const { return ns + "/" + name; }
};

struct DaemonSet {
  std::string ns, name;
  int desired = 0, ready = 0;
  std::vector<Toleration> tolerations;
};

struct Deployment {
  std::string ns, name;
  int replicas = 0, available = 0;
};

struct Event {
  std::string ns, kind, name, reason, message;
  int count = 1;
};

struct Quota {
  std::string ns, name;
  std::map<std::string, std::string> hard, used;
};

struct Webhook {
  std::string configuration;
  std::vector<std::string> failing_services;  ///< namespace/name behind failurePolicy Fail
};

struct ApiService {
  std::string name, available, message;
};

/// A device in a ResourceSlice. For NVIDIA's driver: type is "gpu", "mig" or "vfio"; parent: the UUID of the
/// GPU of a MIG device.
struct Device {
  std::string name, type, uuid, parent;
};

struct ResourceSlice {
  std::string driver, node, pool;
  std::vector<Device> devices;
};

/// A DeviceTaintRule.
struct TaintRule {
  std::string name, manager;
  std::string driver, pool, device;  ///< empty: every one
  std::string effect;                ///< "NoSchedule", "NoExecute", "None"
  bool selects = false;              ///< otherwise it has no selector, or one by class or expression
};

/// A device that is allocated to a ResourceClaim.
struct Allocation {
  std::string driver, pool, device;
};

struct ResourceClaim {
  std::string ns, name;
  std::vector<Allocation>
      allocations;                ///< except those with administrator access, which do not reserve the device
  std::vector<std::string> pods;  ///< names of the pods that it is reserved for
};

struct StorageClass {
  std::string name, provisioner, binding;  ///< "Immediate", "WaitForFirstConsumer"
  bool is_default = false;
};

/// A PersistentVolumeClaim.
struct Claim {
  std::string ns, name, phase, storage_class;
  std::string node;  ///< node selected for the pod that uses it; empty: none yet
  double made = 0;
};

/// A member of etcd, as listed by the local member of the control-plane node that was queried.
struct EtcdMember {
  std::string name, url;  ///< the first for clients; the name is empty until a new member has started
  bool answers = false;   ///< the following is from its own response
  std::string version;
  bool has_leader = false, leads = false;
  long long bytes = 0;              ///< of its database
  std::vector<std::string> errors;  ///< including alarms
};

/// std::optional = could not be read; an empty list = there are none.
struct ClusterFacts {
  std::optional<double> clock;  ///< of the control plane
  std::optional<int> ready_status;
  std::vector<std::string> not_ready;  ///< failing checks of /readyz
  std::string version;                 ///< of the API server
  std::string pods_of;                 ///< the namespace whose pods alone were read; empty: all
  std::optional<std::vector<Node>> nodes;
  std::optional<std::vector<Pod>> pods;
  std::optional<std::map<std::string, int>> images;  ///< of the containers of pods, with their number
  std::optional<std::vector<DaemonSet>> daemon_sets;
  std::optional<std::vector<Deployment>> deployments;
  std::optional<std::map<std::string, std::string>> runtime_classes;  ///< name -> handler
  std::optional<std::vector<Event>> events;                           ///< of type Warning
  std::optional<std::map<std::string, double>> leases;                ///< node -> time of the last renewal
  std::optional<std::vector<Quota>> quotas;
  std::optional<std::vector<Webhook>> webhooks;
  std::optional<std::map<std::string, bool>> endpoints;  ///< namespace/name -> has an address
  std::optional<std::vector<ApiService>> api_services;
  std::optional<std::map<std::string, std::string>> namespaces;  ///< name -> pod-security enforce
  std::optional<std::map<std::string, std::string>> policies;    ///< ClusterPolicy -> state
  std::optional<std::vector<std::string>> dra_versions;  ///< of resource.k8s.io: "v1"; empty: not served
  std::optional<std::vector<ResourceSlice>> slices;
  std::optional<std::vector<ResourceClaim>> resource_claims;
  std::optional<std::vector<TaintRule>> taint_rules;  ///< nothing: not served either
  std::optional<std::vector<std::string>> device_classes;
  std::optional<std::vector<StorageClass>> storage_classes;
  std::optional<std::vector<Claim>> claims;
  std::optional<std::vector<std::string>> csi_drivers;  ///< names
  std::optional<std::map<std::string, std::vector<std::string>>>
      csi_nodes;                                                ///< node -> drivers registered there
  std::optional<std::vector<std::string>> deprecated_apis;      ///< "policy/v1beta1 podsecuritypolicies 1.25"
  std::map<std::string, std::vector<std::string>> plugin_logs;  ///< pod -> last lines
  /// "NAMESPACE/POD" of Kubernetes and of NVIDIA, not ready -> last lines
  std::map<std::string, std::vector<std::string>> pod_logs;
  std::optional<std::map<std::string, double>> etcd;    ///< metrics by name
  std::optional<std::vector<EtcdMember>> etcd_members;  ///< only if requested
  /// Sections that could not be read completely, with the reason: they may lack important entries.
  std::map<std::string, std::string> unread;
};

/// A device of NVIDIA's DRA driver on a node, its claim, and the pods that the claim is reserved for; all as
/// namespace/name. Without a claim it is free.
struct GpuDevice {
  Device device;
  std::string claim;
  std::vector<std::string> pods;
  std::string taint;  ///< the DeviceTaintRule that keeps new pods from it; empty: none
};
/// The GPUs and MIG devices of a node in ResourceSlices.
[[nodiscard]] std::vector<GpuDevice> gpu_devices(const ClusterFacts& cluster, std::string_view node);
/// Whether the GPUs of a node are allocated by claims: there are such devices, and none of a device plugin.
[[nodiscard]] bool allocates_by_claims(const ClusterFacts& cluster, const Node& node);

/// Fault::remote if nodes or pods could not be read.
[[nodiscard]] base::Result<> require_nodes_and_pods(const ClusterFacts& cluster);

struct Facts;
/// The name of a host's node: in the kubelet's kubeconfig, otherwise the host name in lower case, as the
/// kubelet writes it.
[[nodiscard]] std::string node_name_of(const Facts& host);
/// The node of a host, or nullptr. Without a kubeconfig, the only node whose name differs from the host name
/// by a missing domain is that of the host, too.
[[nodiscard]] const Node* node_of(const ClusterFacts& cluster, const Facts& host);

/// Parses the output of playbooks/cluster.sh (docs/reference/cluster.md), like parse() for a host's facts.
[[nodiscard]] base::Result<ClusterFacts> parse_cluster(std::string_view output);

}  // namespace facts
