#include "gpuadm/facts/gpu_use.hpp"

#include <doctest/doctest.h>

namespace {

facts::Pod pod_with(const std::string& ns, const std::string& name, const std::string& phase,
                    long long gpus) {
  facts::Pod pod;
  pod.ns = ns;
  pod.name = name;
  pod.node = "gpu1";
  pod.phase = phase;
  pod.gpus["nvidia.com/gpu"] = gpus;
  return pod;
}

}  // namespace

TEST_CASE("pods that have ended, of other nodes, or of an ignored namespace hold no GPUs") {
  facts::Node node;
  node.name = "gpu1";
  node.allocatable["nvidia.com/gpu"] = "4";
  facts::ClusterFacts cluster;
  cluster.pods = {pod_with("default", "anna", "Running", 2), pod_with("default", "old", "Succeeded", 1),
                  pod_with("gpuadm-verify", "compute", "Running", 1),
                  pod_with("default", "far", "Running", 1)};
  cluster.pods->back().node = "gpu2";
  const auto usage = facts::gpu_usage(cluster, node, "nvidia.com/gpu");
  CHECK(usage.all == 4);
  CHECK(usage.held == 3);
  CHECK(usage.free() == 1);
  REQUIRE(usage.uses.size() == 2);
  CHECK(usage.uses[0].holder == "default/anna");
  CHECK(usage.uses[0].count == 2);
  CHECK(facts::gpu_usage(cluster, node, "nvidia.com/gpu", "gpuadm-verify").held == 2);
  CHECK(facts::gpu_usage(cluster, node, "nvidia.com/gpu.shared").all == 0);
}
