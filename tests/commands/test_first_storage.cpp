#include "commands/workloads/service/first_storage.hpp"

#include <doctest/doctest.h>

namespace {

constexpr unsigned long long gib = 1ULL << 30, kib_of_gib = 1ULL << 20;

facts::Facts host_with(const std::string& name, unsigned long long free_gib) {
  facts::Facts facts;
  facts.machine.hostname = name;
  facts.storage.disks = {{"/", "ext4", 0, free_gib * kib_of_gib, 0, 0}};
  return facts;
}

facts::Node node(const std::string& name, int gpus) {
  facts::Node one;
  one.name = name;
  one.conditions["Ready"] = {"True", "KubeletReady"};
  if (gpus > 0) one.capacity["nvidia.com/gpu"] = one.allocatable["nvidia.com/gpu"] = std::to_string(gpus);
  return one;
}

struct World {
  facts::Census census;
  facts::ClusterFacts cluster;
  World() {
    census.emplace("cpu", host_with("cpu", 500));
    census.emplace("gpu1", host_with("gpu1", 100));
    census.emplace("gpu2", host_with("gpu2", 200));
    census.emplace("gpu3", base::fail(base::Fault::unreachable, "gpu3: no route to host"));
    cluster.nodes = {{node("cpu", 0), node("gpu1", 1), node("gpu2", 1), node("gpu3", 1)}};
    cluster.pods.emplace();
  }
  [[nodiscard]] base::Result<commands::FirstStorage> place(const std::string& gpus,
                                                           unsigned long long bytes) const {
    return commands::place_first_storage(census, cluster, *workload::supply_of(cluster),
                                         *workload::parse_gpus("--gpus", gpus), bytes);
  }
};

}  // namespace

TEST_CASE("the first storage is on the host with the most free space, of those that can run the notebook") {
  World world;
  const auto with_gpu = world.place("1", 10 * gib);
  REQUIRE(with_gpu);
  CHECK(with_gpu->host == "gpu2");
  CHECK(with_gpu->free == 200 * gib);
  CHECK(world.place("0", 10 * gib)->host == "cpu");
  (*world.cluster.nodes)[0].taints.push_back({"node-role.kubernetes.io/control-plane", "", "NoSchedule"});
  CHECK(world.place("0", 10 * gib)->host == "gpu2");
  (*world.cluster.nodes)[2].unschedulable = true;
  CHECK(world.place("0", 10 * gib)->host == "gpu1");
}

TEST_CASE("a GPU that another pod holds ties no volume to its node") {
  World world;
  facts::Pod pod;
  pod.ns = "team";
  pod.name = "trainer";
  pod.node = "gpu2";
  pod.phase = "Running";
  pod.gpus["nvidia.com/gpu"] = 1;
  world.cluster.pods->push_back(pod);
  CHECK(world.place("1", 10 * gib)->host == "gpu1");
}

TEST_CASE("a volume that fits on no host is refused with the reason of each") {
  World world;
  world.census.at("gpu2")->storage.disks.clear();
  (*world.cluster.nodes)[1].unschedulable = true;
  const auto place = world.place("1", 101 * gib);
  REQUIRE(!place);
  CHECK(place.error().fault == base::Fault::blocked);
  for (const char* why :
       {"cpu: 1 GPU not free", "gpu1: cordoned", "gpu2: free space unknown", "gpu3: could not be read"})
    CHECK_MESSAGE(place.error().what.find(why) != std::string::npos, place.error().what);
}
