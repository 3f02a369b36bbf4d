#pragma once

#include "gpuadm/spec/cluster.hpp"

namespace spec {

/// Source of a program that a host lacks. `open`: undecided, kubernetes.source decides.
enum class Supply {
  open,
  repositories,
  bundle,
  skipped,  ///< the phase that installs it is not part of the run
  none      ///< nothing in the run can install it
};

/// What a run decides for one host.
struct HostDecisions {
  int driver_branch = 0;            ///< of the driver to install, selected by the GPUs: 580; 0: none
  std::string driver_modules;       ///< "open" or "proprietary"
  bool programs_in_bundle = false;  ///< the bundle has packages of programs that kubeadm calls
  /// Source of a container runtime or the NVIDIA Container Toolkit if the host has none.
  Supply runtime = Supply::open, toolkit = Supply::open;
};

/// What a run decides from the cluster file, the facts and the bundle; the cluster file is not edited. The
/// default is a run that decides nothing.
struct Decisions {
  std::optional<base::Version> kubernetes;  ///< the version that the run installs or finds
  bool without_dns = false;                 ///< the bundle has no CoreDNS, and kubeadm skips it
  bool may_exist = false;  ///< the command works on a cluster that another tool may have created
  std::map<std::string, HostDecisions> hosts;  ///< by name
  /// Those of a host; the default if there are none.
  [[nodiscard]] const HostDecisions& of(const std::string& host) const;
};

/// The decided version, otherwise the requested one.
[[nodiscard]] std::optional<base::Version> kubernetes_of(const Cluster& cluster, const Decisions& decisions);

/// The cluster file that requests what was decided, to be stored.
[[nodiscard]] Cluster completed(Cluster cluster, const Decisions& decisions);

/// For decisions.json.
[[nodiscard]] base::Tree to_tree(const Decisions& decisions);

}  // namespace spec
