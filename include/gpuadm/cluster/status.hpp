#pragma once

#include "gpuadm/cluster/gpu_rows.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cluster {

enum class Health { well, ill, unknown };

/// Something that was asked how it is.
struct Part {
  std::string name;  ///< "kube-scheduler"
  Health health = Health::unknown;
  std::string says;  ///< empty where it is well
};

struct NodeStatus {
  std::string name, host;   ///< host: its name here; empty where nobody named it
  std::string role, ready;  ///< "control-plane", "worker"; "Ready", "NotReady", "Unknown"
  bool cordoned = false;
  std::string why;  ///< where it is not ready, in the cluster's words
  std::string kubelet, runtime, address, os, kernel;
  std::optional<double> lease_age;  ///< seconds since its kubelet last reported
};

/// One control plane.
struct PlaneStatus {
  std::string name;
  std::vector<Part> parts;     ///< API server, controller manager, scheduler, etcd
  std::string certificate;     ///< the one that ends first
  std::optional<double> days;  ///< until then
  const Part& part(std::string_view name) const;
};

/// The GPUs of one host, and how many of them pods hold.
struct GpuUse {
  GpuCounts counts;
  long long used = 0;
  std::vector<std::string> pods;
};

/// What is not well, where ("the cluster", or a host), and what to type.
struct Problem {
  std::string where, what, remedy;
};

struct Status {
  std::string cluster, asked;  ///< asked: the control plane that spoke for the cluster; empty: none did
  std::string version, endpoint;
  Part api;
  std::vector<NodeStatus> nodes;
  std::vector<PlaneStatus> planes;
  std::vector<facts::EtcdMember> etcd;
  std::string network, proxy;
  std::vector<GpuUse> gpu_hosts;
  std::vector<GpuRow> gpus;
  std::vector<Problem> problems;
};

/// What hosts and a control plane said.
struct ClusterSurvey {
  const spec::Cluster& cluster;
  const facts::Census& census;
  const std::optional<facts::ClusterFacts>& view;
  std::string asked;  ///< whose view that is
};

/// Everything that `gpuadm status` shows. `findings` are for the table of GPUs, as gpu_table has them.
[[nodiscard]] Status status_of(const ClusterSurvey& survey, const std::vector<report::Finding>& findings);

/// The node behind a host: by what the host calls itself, else by name or address. nullptr: none.
[[nodiscard]] const facts::Node* node_behind(const ClusterSurvey& survey, const spec::Host& host);

/// The parts of it that control planes and etcd are: rows and problems are appended.
void add_planes(const ClusterSurvey& survey, Status& status);

}  // namespace cluster
