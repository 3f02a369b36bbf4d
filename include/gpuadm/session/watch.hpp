#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/report/changes.hpp"
#include "gpuadm/session/recording.hpp"

namespace session {

/// What the checks say of what was seen.
using Judge = std::function<Result<std::vector<report::Finding>>(const Recording&)>;

/// What a watch does with what it sees.
struct Watcher {
  std::chrono::seconds every;
  /// The control plane is asked, too.
  bool view = false;
  Reasons reasons = Reasons::skipped;
  Judge judge;
  /// What is new, gone or changed since the last call, and every finding; every second also where nothing is,
  /// so that a page can be drawn again.
  std::function<void(std::span<const report::Change>, const std::vector<report::Finding>&)> notify;
};

/// Looks at every host again and again, each at its own pace, over connections that stay open, until Ctrl-C.
/// A host that does not answer keeps what was last seen of it and is told as unreached; no other host waits
/// for it. `looked` holds the cluster, and in the end what was seen last.
[[nodiscard]] Result<> watch(Recording& looked, transport::Fleet& fleet, const assets::Store& assets,
                             const Watcher& watcher);

}  // namespace session
