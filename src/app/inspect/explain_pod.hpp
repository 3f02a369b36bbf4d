#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/cluster/pod_explanation.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"

/// For commands that create pods, and report why they do not run: `headline()` of the explanation is one
/// line.
namespace app {

/// Reads the pod from the first control-plane node that responds, and, if its containers failed with a GPU
/// error, the facts of its node's host, if that is in the fleet. Faults: as cluster::explain, and those of
/// the last host.
[[nodiscard]] base::Result<cluster::PodExplanation> explain_pod(const spec::Cluster& cluster,
                                                                const cluster::PodName& name,
                                                                transport::Fleet& fleet,
                                                                const assets::Store& assets);

}  // namespace app
