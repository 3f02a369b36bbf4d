#pragma once

#include "gpuadm/cluster/status.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "commands/command.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace commands {

/// A cluster after a run that created or extended it.
struct RunSummary {
  const spec::Cluster& cluster;
  const facts::Census& census;       ///< from before the run
  std::filesystem::path kubeconfig;  ///< for kubectl on this machine; empty: none was written
  std::string typed;                 ///< arguments that select its hosts: typed()
  bool waited_for = false;           ///< whether the run waited for the cluster
  std::optional<base::Version> kubernetes;
  std::optional<cluster::Status> status;  ///< measured after the run; nothing: it was not read
};

/// The state of the cluster, and the next commands: at most ten lines.
[[nodiscard]] std::string to_text(const RunSummary& summary);

/// The result of a complete reset or undo: "gpu1 is restored to its state before gpuadm changed it".
[[nodiscard]] std::string restored(const std::vector<std::string>& hosts, std::string_view before);

}  // namespace commands
