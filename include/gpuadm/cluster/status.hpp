#pragma once

#include "gpuadm/cluster/gpu_rows.hpp"
#include "gpuadm/cluster/verdict.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cluster {

/// A component whose state was queried.
struct Part {
  std::string name;  ///< "kube-scheduler"
  Health health = Health::unknown;
  std::string message;  ///< empty if it is healthy
};

struct NodeStatus {
  std::string name, host;   ///< host: its name in the cluster file; empty if it is not in it
  std::string role, ready;  ///< "control-plane", "worker"; "Ready", "NotReady", "Unknown"
  bool cordoned = false;
  std::string why;  ///< the reason if it is not ready, as reported by the cluster
  std::string kubelet, runtime, address, os, kernel;
  std::optional<double> lease_age;  ///< seconds since the last heartbeat of its kubelet
};

/// One control-plane node.
struct PlaneStatus {
  std::string name;
  std::vector<Part> parts;     ///< API server, controller manager, scheduler, etcd
  std::string certificate;     ///< the one that expires first
  std::optional<double> days;  ///< until it expires
  const Part& part(std::string_view name) const;
};

/// The GPUs of one host, and how many of them pods use.
struct GpuUse {
  GpuCounts counts;
  std::optional<long long> used;  ///< nothing: the pods could not be read
  std::vector<std::string> pods;
};

struct Status {
  std::string cluster, asked;  ///< asked: the control-plane node that reported it; empty: none did
  std::string version, endpoint;
  Part api;
  std::vector<NodeStatus> nodes;
  std::vector<PlaneStatus> planes;
  std::vector<facts::EtcdMember> etcd;
  std::string network, proxy;
  std::vector<GpuUse> gpu_hosts;
  std::vector<GpuRow> gpus;
  Verdict verdict;  ///< of what is shown here; verdict_of() adds the checks
};

/// State reported by hosts and a control-plane node.
struct ClusterSurvey {
  const spec::Cluster& cluster;
  const facts::Census& census;
  const std::optional<facts::ClusterFacts>& view;
  std::string asked;  ///< the node that reported it
};

/// Everything that `gpuadm status` prints. `findings` are for the table of GPUs, as for gpu_table.
[[nodiscard]] Status status_of(const ClusterSurvey& survey, const std::vector<report::Finding>& findings);

/// The node of a host: by its host name, otherwise by name or address. nullptr: none.
[[nodiscard]] const facts::Node* node_behind(const ClusterSurvey& survey, const spec::Host& host);

/// The part about control planes and etcd: appends rows and problems.
void add_planes(const ClusterSurvey& survey, Status& status);

/// The part about GPUs. `findings` as for gpu_table.
void add_gpus(const ClusterSurvey& survey, const std::vector<report::Finding>& findings, Status& status);

}  // namespace cluster
