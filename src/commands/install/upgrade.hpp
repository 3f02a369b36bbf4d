#pragma once

#include "commands/command.hpp"
#include "commands/install/closing.hpp"

#include <string>

/// `gpuadm upgrade`: a newer Kubernetes on every node of a cluster, or newer components below it.
namespace commands {

struct UpgradeOptions {
  Common common;
  Hosts hosts;
  std::string
      kubernetes_version;  ///< empty: the bundle's, otherwise the cluster file's, otherwise the catalog's
  std::filesystem::path bundle, bundle_signers;  ///< as for init
  int max_unavailable = 1;                       ///< workers that are upgraded at the same time
  int drain_timeout = 300;                       ///< seconds for the pods of a node to end
  /// "newest", or the beginning of the version; for a driver its branch. All empty: Kubernetes is upgraded.
  std::string runtime, toolkit, driver;
  Consent consent = Consent::ask;
  Rebooting reboots = Rebooting::done;
  Waiting waiting = Waiting::until_it_works;
  Format format = Format::text;
};

/// Prints what stands after an upgrade that is done, for people. Adds the kubeconfig and the test of GPUs.
void close_upgrade(const CountedRun& run, Closing closing, const UpgradeOptions& options, Io& io);

}  // namespace commands
