#pragma once

#include "gpuadm/checks/chain.hpp"
#include "gpuadm/playbook/playbook.hpp"

#include <chrono>
#include <string>

/// Manifests of the pods of a PodTest.
namespace session {

using base::Result;

constexpr const char* proof_image = "gpuadm.local/proof:1";  // proof/make-image

/// The time limit from the creation of the pods to their result.
[[nodiscard]] std::chrono::seconds time_limit_of(const checks::PodTest& pod_test);
/// The pods of a test, and their claim template if the node's GPUs are allocated by claims.
[[nodiscard]] Result<std::string> test_manifests(const playbook::Library& library,
                                                 const checks::PodTest& pod_test,
                                                 const checks::GpuNode& node);

}  // namespace session
