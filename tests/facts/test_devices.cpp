#include "gpuadm/facts/cluster.hpp"

#include <doctest/doctest.h>

namespace {

facts::ClusterFacts read(const std::string& sections) {
  const auto facts = facts::parse_cluster("gpuadm-probe 1\n" + sections + "=== end\n");
  REQUIRE(facts);
  return *facts;
}

const std::string two_gpus =
    "=== resourceslices\n"
    "| one-gpu.nvidia.com-8jxq4\tgpu.nvidia.com\tone\tone\tgpu-0/gpu/GPU-a/ gpu-1/gpu/GPU-b/ \n"
    "| one-nic\tnic.example.com\tone\tone\tnic-0/// \n? 0\n";

}  // namespace

TEST_CASE("devices of NVIDIA's DRA driver are read with the claims and pods that have them") {
  const auto facts = read(two_gpus +
                          "=== resourceclaims\n"
                          "| ml\ttrainer-gpus-x2k4p\tgpu.nvidia.com/one/gpu-0/ \tpods/trainer \n"
                          "| ml\twatcher\tgpu.nvidia.com/one/gpu-1/true \tpods/dcgm \n"
                          "| ml\tnic\tnic.example.com/one/gpu-1/ \tpods/other \n"
                          "| ml\twaits\t \t \n? 0\n");
  const auto devices = facts::gpu_devices(facts, "one");
  REQUIRE(devices.size() == 2);
  CHECK(devices[0].device.uuid == "GPU-a");
  CHECK(devices[0].device.type == "gpu");
  CHECK(devices[0].claim == "ml/trainer-gpus-x2k4p");
  CHECK(devices[0].pods == std::vector<std::string>{"ml/trainer"});
  CHECK(devices[1].claim.empty());  // administrator access takes nothing away
  CHECK(facts::gpu_devices(facts, "two").empty());
}

TEST_CASE("a node allocates by claims where slices name its GPUs and no device plugin offers any") {
  const auto facts = read(two_gpus);
  facts::Node node;
  node.name = "one";
  CHECK(facts::allocates_by_claims(facts, node));
  node.allocatable["nvidia.com/gpu"] = "2";
  CHECK(!facts::allocates_by_claims(facts, node));
  node.allocatable["nvidia.com/gpu"] = "0";
  CHECK(facts::allocates_by_claims(facts, node));
  node.name = "two";
  CHECK(!facts::allocates_by_claims(facts, node));
}

TEST_CASE("what could not be read of resource.k8s.io is not taken for nothing") {
  CHECK(!read("").dra_versions);
  CHECK(!read("").slices);
  CHECK(!read("=== resource-api\n| Unable to connect to the server\n? 1\n").dra_versions);
  const auto none = read(
      "=== resource-api\n| Error from server (NotFound): the server could not find the requested resource\n? "
      "1\n=== resourceslices\n? 1\n");
  REQUIRE(none.dra_versions);
  CHECK(none.dra_versions->empty());
  CHECK(!none.slices);
  const auto served = read(
      "=== resource-api\n| "
      R"({"kind":"APIGroup","name":"resource.k8s.io","versions":[{"groupVersion":"resource.k8s.io/v1","version":"v1"},{"version":"v1beta2"}]})"
      "\n? 0\n=== deviceclasses\n| gpu.nvidia.com\t\n? 0\n");
  CHECK(*served.dra_versions == std::vector<std::string>{"v1", "v1beta2"});
  CHECK(*served.device_classes == std::vector<std::string>{"gpu.nvidia.com"});
}
