#pragma once

#include "gpuadm/base/time.hpp"
#include "gpuadm/kube/verdict.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace kube {

/// What the check of a wait printed, with each pod of pods_unready (playbooks/prelude.sh) as a sentence.
struct WaitOutput {
  std::string text;      ///< "kube-proxy-x7k on gpu1: the image … does not exist"; other lines are unchanged
  std::string hopeless;  ///< the sentences on pods that end the wait; empty: it continues
};
/// What a wait remembers of its earlier rounds.
struct WaitMemory {
  std::map<std::string, int, std::less<>> restarts;  ///< of each container, when it was first seen
  std::optional<base::Instant> hopeless_since;       ///< nothing: no pod was hopeless in the last round
};

/// One round of a wait, read at `now`. Restarts before the wait do not count.
[[nodiscard]] WaitOutput read_unready(std::string_view output, const WaitRules& rules, WaitMemory& memory,
                                      base::Instant now);

}  // namespace kube
