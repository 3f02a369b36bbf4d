#include "gpuadm/workload/state.hpp"

#include <doctest/doctest.h>

namespace {

facts::Pod pod_of(const std::string& ns, const std::string& name, const std::string& phase,
                  std::map<std::string, long long> gpus) {
  facts::Pod pod;
  pod.ns = ns;
  pod.name = name;
  pod.phase = phase;
  pod.gpus = std::move(gpus);
  return pod;
}

}  // namespace

TEST_CASE("pods with GPUs that are not of a workload are rows of their own") {
  facts::ClusterFacts cluster;
  cluster.pods = {pod_of("team", "mine", "Running", {{"nvidia.com/gpu", 2}}),
                  pod_of("team", "waits", "Pending", {{"nvidia.com/mig-1g.18gb", 1}}),
                  pod_of("team", "ended", "Succeeded", {{"nvidia.com/gpu", 2}}),
                  pod_of("team", "plain", "Running", {}),
                  pod_of("default", "anna-0", "Running", {{"nvidia.com/gpu", 1}}),
                  pod_of("gpuadm-verify", "pod-0", "Running", {{"nvidia.com/gpu", 1}}),
                  pod_of("kube-system", "gpuadm-gpu-0123456789", "Pending", {{"nvidia.com/gpu", 1}})};
  cluster.pods->front().node = "gpu1";
  const base::Tree notebook = base::Tree::map_of(
      {{"kind", "Pod"},
       {"metadata", base::Tree::map_of({{"namespace", "default"},
                                        {"name", "anna-0"},
                                        {"labels", base::Tree::map_of({{"gpuadm.io/kind", "notebook"}})}})}});
  const auto rows = workload::other_gpu_rows(cluster, std::vector{notebook});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].kind == "pod");
  CHECK(rows[0].ns + "/" + rows[0].name == "team/mine");
  CHECK(rows[0].gpus == "2");
  CHECK(rows[0].node == "gpu1");
  CHECK(rows[0].state == "running");
  CHECK(rows[1].name == "waits");
  CHECK(rows[1].state == "waiting for a node");
  CHECK(workload::other_gpu_rows({}, {}).empty());
}

TEST_CASE("a GPU that the scheduler claims for a pod that requests nvidia.com/gpu is counted once") {
  facts::ClusterFacts cluster;
  facts::Node node;
  node.name = "one";
  cluster.nodes = {node};
  cluster.slices = {{{"gpu.nvidia.com", "one", "one", {{"gpu-0", "gpu", "GPU-a", ""}}}}};
  cluster.resource_claims = {{{"team", "named-extended", {{"gpu.nvidia.com", "one", "gpu-0"}}, {"named"}}}};
  cluster.pods = {pod_of("team", "named", "Running", {{"nvidia.com/gpu", 1}})};
  const auto rows = workload::other_gpu_rows(cluster, {});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].gpus == "1");
}
