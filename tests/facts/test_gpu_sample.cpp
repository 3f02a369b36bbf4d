#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/gpu_sample.hpp"

#include <doctest/doctest.h>

using facts::cgroup_owner;
using facts::parse_gpu_sample;
using facts::throttle_reasons;

namespace {
const std::string uid = "5c1a7a2e-93f4-4a53-8d1e-0a6f1c1b2d3e";
const std::string id = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9";
}  // namespace

TEST_CASE(
    "the pod and the container of a process are in its control group, however the runtime writes them") {
  const std::string low = base::replace_all(uid, "-", "_");
  for (const std::string& line : {
           "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + low +
               ".slice/cri-containerd-" + id + ".scope",
           "0::/kubepods.slice/kubepods-pod" + low + ".slice/crio-" + id + ".scope",
           "4:memory:/kubepods/burstable/pod" + uid + "/" + id,
           "11:pids:/kubepods/besteffort/pod" + uid + "/" + id + "/payload",
           "0::/system.slice/containerd.service/kubepods-besteffort-pod" + low +
               ".slice:cri-containerd:" + id,
           "0::/../../kubepods.slice/kubepods-pod" + low + ".slice/docker-" + id + ".scope/init.scope",
       }) {
    CAPTURE(line);
    CHECK(cgroup_owner(line).pod_uid == uid);
    CHECK(cgroup_owner(line).container == id);
  }
}

TEST_CASE("a static pod has a UID without hyphens") {
  const std::string hash = "0123456789abcdef0123456789abcdef";
  CHECK(cgroup_owner("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + hash +
                     ".slice/cri-containerd-" + id + ".scope")
            .pod_uid == hash);
}

TEST_CASE("other control groups have no pod") {
  for (const std::string& line :
       {std::string("0::/user.slice/user-1000.slice/session-3.scope"), std::string("0::/"), std::string(),
        std::string("0::/kubepods.slice"), std::string("0::/podman-12.scope"),
        "0::/system.slice/cloud-pod" + uid.substr(0, 20)}) {
    CAPTURE(line);
    CHECK(cgroup_owner(line).pod_uid.empty());
    CHECK(cgroup_owner(line).container.empty());
  }
  CHECK(cgroup_owner("0::/system.slice/docker-" + id + ".scope").container == id);
}

TEST_CASE("an nvidia-smi that may hang is named, and that only root can read it") {
  const auto sample = parse_gpu_sample("gpuadm-gpu-top 1\n=== hangs\n| 4711 unknown\n");
  REQUIRE(sample);
  CHECK(sample->hangs);
  CHECK(
      sample->failure.starts_with("nvidia-smi (pid 4711) may hang in the kernel, which only root can read"));
}

TEST_CASE("an idle GPU is not throttled, and a slowdown is named by its cause") {
  CHECK(throttle_reasons(0).empty());
  CHECK(throttle_reasons(1).empty());
  CHECK(throttle_reasons(0x4) == std::vector<std::string>{"sw_power_cap"});
  CHECK(throttle_reasons(0x48) == std::vector<std::string>{"hw_thermal_slowdown"});
  CHECK(throttle_reasons(0x8) == std::vector<std::string>{"hw_slowdown"});
}

TEST_CASE("output that is not a sample is an error that quotes it") {
  const auto sample = parse_gpu_sample("bash: nvidia-smi: command not found\n");
  REQUIRE(!sample);
  CHECK(sample.error().what.find("command not found") != std::string::npos);
}

TEST_CASE("a sample that is cut anywhere is read or refused, and never has a GPU with wrong values") {
  const std::string whole =
      "gpuadm-gpu-top 1\n=== gpus\n| index, uuid, name, utilization.gpu [%], memory.used [MiB]\n"
      "| 0, GPU-1, NVIDIA H200, 97, 1024\n? 0\n=== fields\n| 1\n=== programs\n| GPU-1, 12, 100, python\n? "
      "0\n";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto sample = parse_gpu_sample(whole.substr(0, size));
    if (!sample || sample->gpus.empty()) continue;
    CAPTURE(size);
    CHECK(sample->gpus.front().utilization == 97);
  }
}

TEST_CASE("names of pods are read, with and without labels") {
  const auto names =
      facts::parse_pod_names("| " + uid + "\tdefault\tanna-0\tnotebook\tanna\n| b\tteam\tx\t\t\n| c\n? 1\n");
  CHECK(names.status == 1);
  REQUIRE(names.pods.size() == 2);
  CHECK(names.pods.at(uid).workload == "anna");
  CHECK(names.pods.at("b").kind.empty());
}
