#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/report/changes.hpp"
#include "gpuadm/session/recording.hpp"

namespace session {

/// Evaluates the checks on a survey.
using Judge = std::function<Result<std::vector<report::Finding>>(const Recording&)>;

/// Callbacks of a watch.
struct Watcher {
  std::chrono::seconds every;
  /// Also read the cluster from the control plane.
  bool view = false;
  Reasons reasons = Reasons::skipped;
  Judge judge;
  /// Changes since the last call, and all findings; called every second even without changes, so that a page
  /// can be refreshed.
  std::function<void(std::span<const report::Change>, const std::vector<report::Finding>&)> notify;
};

/// Surveys every host repeatedly, each independently, over persistent connections, until Ctrl-C. A host that
/// does not respond keeps its last facts and is reported as unreachable; the other hosts do not wait for it.
/// `recording` contains the cluster, and at the end the last survey.
[[nodiscard]] Result<> watch(Recording& recording, transport::Fleet& fleet, const assets::Store& assets,
                             const Watcher& watcher);

}  // namespace session
