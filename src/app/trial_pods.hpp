#pragma once

#include "gpuadm/checks/chain.hpp"
#include "gpuadm/playbook/playbook.hpp"

#include <chrono>
#include <string>

/// The pods that a trial is judged by, as manifests.
namespace app {

using base::Result;

constexpr const char* proof_image = "gpuadm.local/proof:1";  // proof/make-image

/// How long pods of a link may take from their making to where they are judged.
[[nodiscard]] std::chrono::seconds patience_of(const checks::Trial& trial);
/// The pods of a trial, and the claim template that they name where the node's GPUs are claimed.
[[nodiscard]] Result<std::string> trial_manifests(const playbook::Library& library,
                                                  const checks::Trial& trial, const checks::GpuNode& node);

}  // namespace app
