#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/facts/gpu_use.hpp"

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

TEST_CASE("a DeviceTaintRule taints the devices that it selects, and new pods do not get them") {
  const auto tainted = [](const std::string& rule) {
    const auto facts = read(two_gpus + "=== devicetaintrules\n| " + rule + "\n? 0\n");
    REQUIRE(facts.taint_rules);
    std::string found;
    for (const facts::GpuDevice& device : facts::gpu_devices(facts, "one"))
      if (!device.taint.empty()) found += device.device.name + " ";
    return found;
  };
  // As kubectl prints a selector of resource.k8s.io/v1.
  const std::string one = "{\"device\":\"gpu-1\",\"driver\":\"gpu.nvidia.com\",\"pool\":\"one\"}";
  CHECK(tainted("r\tgpuadm\t" + one + "\tNoSchedule") == "gpu-1 ");
  CHECK(tainted("r\t\t" + one + "\tNoExecute") == "gpu-1 ");
  CHECK(tainted("r\t\t{\"driver\":\"gpu.nvidia.com\"}\tNoSchedule") == "gpu-0 gpu-1 ");
  CHECK(tainted("r\t\t{}\tNoSchedule") == "gpu-0 gpu-1 ");
  CHECK(tainted("r\t\t" + one + "\tNone").empty());
  CHECK(tainted("r\t\t \tNoSchedule").empty());
  CHECK(tainted("r\t\t{\"deviceClassName\":\"gpu.nvidia.com\"}\tNoSchedule").empty());
  CHECK(tainted("r\t\t{\"driver\":\"gpu.nvidia.com\",\"pool\":\"two\"}\tNoSchedule").empty());
  CHECK(!read(two_gpus).taint_rules);
  CHECK(!read(two_gpus + "=== devicetaintrules\n? 1\n").taint_rules);

  const auto facts = read(two_gpus + "=== resourceclaims\n? 0\n=== devicetaintrules\n| r\tgpuadm\t" + one +
                          "\tNoSchedule\n? 0\n");
  CHECK(facts::claimed_gpu_usage(facts, "one", facts::Devices::gpus).all == 1);
}
