#include "gpuadm/facts/facts.hpp"
#include "gpuadm/facts/gpu_users.hpp"

#include "facts/probe_text.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

constexpr const char *one = "5c1a7a2e-93f4-4a53-8d1e-0a6f1c1b2d3e",
                     *two = "11111111-2222-4333-8444-555555555555";

/// The members and their order are those of pkg/kubelet/cm/devicemanager/checkpoint.
std::string entry(const std::string& uid, const std::string& ids) {
  return R"({"PodUID":")" + uid + R"(","ContainerName":"work","ResourceName":"nvidia.com/gpu","DeviceIDs":)" +
         ids + R"(,"AllocResp":"CgZOVklESUE="})";
}

std::string checkpoint(const std::string& entries, const std::string& registered) {
  return R"({"Data":{"PodDeviceEntries":[)" + entries + R"(],"RegisteredDevices":{"nvidia.com/gpu":[)" +
         registered + R"(]}},"Checksum":2845634417})";
}

}  // namespace

TEST_CASE("the kubelet's checkpoint names the pods of GPUs, shares and MIG instances") {
  const auto found = facts::parse_gpu_allocations(
      checkpoint(entry(one, R"({"-1":["GPU-a::0"],"0":["GPU-b"]})") + "," +
                     entry(two, R"({"-1":["GPU-a::1"]})") + "," + entry(two, R"(["MIG-c"])"),
                 R"("GPU-a::0","GPU-b")"));
  REQUIRE(found);
  CHECK(found->complete);
  CHECK(found->pods.at("GPU-a") == std::set<std::string>{two, one});
  CHECK(found->pods.at("GPU-b") == std::set<std::string>{one});
  CHECK(found->pods.at("MIG-c") == std::set<std::string>{two});
}

TEST_CASE("a GPU that the checkpoint does not name may be allocated, if devices have other names or none") {
  const auto complete = [](const std::string& text) {
    const auto found = facts::parse_gpu_allocations(text);
    REQUIRE(found);
    return found->complete;
  };
  CHECK(complete(checkpoint("", R"("GPU-a")")));
  CHECK(!complete(checkpoint("", "")));
  CHECK(!complete(checkpoint("", R"("GPU-a","0")")));
  CHECK(!complete(checkpoint(entry(one, R"({"-1":["double-0"]})"), R"("GPU-a")")));
  CHECK(!complete(checkpoint(entry("../x", R"({"-1":["GPU-a"]})"), R"("GPU-a")")));
  CHECK(!complete(R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1})"));
}

TEST_CASE("a checkpoint of another form is refused") {
  for (const char* text : {"", "{}", "[]", R"({"Data":{}})", R"({"Data":"x","Checksum":1})",
                           R"({"Data":{"PodDeviceEntries":[{"PodUID":)"})
    CHECK(!facts::parse_gpu_allocations(text));
}

TEST_CASE("the probe names the pods to which GPUs are allocated") {
  const std::string text =
      checkpoint(entry(one, R"({"-1":["GPU-a::0"]})") + "," + entry(two, R"({"-1":["GPU-b"]})"),
                 R"("GPU-a::0","GPU-b")");
  const std::string names = std::string("anna_train-0_") + one + "\nkube-system_a_b_c";
  const auto read = facts::parse(probe_text({{"kubelet-devices", text + "\n? 0"}, {"gpu-pods", names}}));
  REQUIRE(read);
  REQUIRE(read->nvidia.allocated);
  CHECK(read->nvidia.allocated->at("GPU-a") == std::set<std::string>{"anna/train-0"});
  CHECK(read->nvidia.allocated->at("GPU-b") == std::set<std::string>{std::string("pod ") + two});
  for (const std::string& other : {text + "\n? 124", text.substr(0, 90) + "\n? 0", std::string("{}\n? 0")}) {
    const auto unknown = facts::parse(probe_text({{"kubelet-devices", other}}));
    REQUIRE(unknown);
    CHECK(!unknown->nvidia.allocated);
  }
}
