#pragma once

#include "gpuadm/app/app.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace app {

/// A cluster after a run that made it, or added to it.
struct RunSummary {
  const spec::Cluster& cluster;
  const facts::Census& census;       ///< from before the run
  std::filesystem::path kubeconfig;  ///< for kubectl on this machine; empty: none was written
  std::string typed;                 ///< what commands need to reach its hosts: typed()
  bool waited_for = false;           ///< the run ended when the cluster worked
};

/// What there is now, and what to type next: nine lines at most.
[[nodiscard]] std::string to_text(const RunSummary& summary);

/// What there is after a reset or an undo that left nothing behind: "gpu1 is as it was before gpuadm changed
/// it".
[[nodiscard]] std::string restored(const std::vector<std::string>& hosts, std::string_view before);

}  // namespace app
