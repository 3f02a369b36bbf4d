#pragma once

#include "gpuadm/kube/verdict.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace kube {

/// What the check of a wait printed, with each pod of pods_unready (playbooks/prelude.sh) as a sentence.
struct WaitOutput {
  std::string text;      ///< "kube-proxy-x7k on gpu1: the image … does not exist"; other lines are unchanged
  std::string hopeless;  ///< the sentences on pods that end the wait; empty: it continues
};
/// `waited`: how long the wait has lasted.
[[nodiscard]] WaitOutput read_unready(std::string_view output, const WaitRules& rules,
                                      std::chrono::seconds waited);

}  // namespace kube
