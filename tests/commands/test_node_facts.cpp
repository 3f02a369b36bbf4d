#include "gpuadm/facts/facts.hpp"

#include "commands/operate/health/node_facts.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

TEST_CASE("the halves of a probe are read as one, and the newer half is preferred") {
  const std::string fast = "gpuadm-probe 1\n=== clock\n| 2\n=== /proc/sys/kernel/hostname\n| new\n=== end\n";
  const std::string slow =
      "gpuadm-probe 1\n=== clock\n| 1\n=== /proc/sys/kernel/hostname\n| old\n=== kubelet\n| Kubernetes "
      "v1.36.2\n? 0\n=== end\n";
  const std::string both = commands::joined_probes(fast, slow);
  CHECK(both ==
        "gpuadm-probe 1\n=== clock\n| 2\n=== /proc/sys/kernel/hostname\n| new\n=== clock\n| 1\n=== "
        "/proc/sys/kernel/hostname\n| old\n"
        "=== kubelet\n| Kubernetes v1.36.2\n? 0\n=== end\n");
  const auto facts = facts::parse(both);
  REQUIRE(facts);
  REQUIRE(facts->kubernetes.kubelet);
  CHECK(facts->kubernetes.kubelet->contains("1.36.2"));
}

TEST_CASE("a half that was truncated is not read as a whole") {
  const std::string fast = "gpuadm-probe 1\n=== clock\n| 2\n", whole = "gpuadm-probe 1\n=== clock\n=== end\n";
  CHECK(!facts::parse(commands::joined_probes(fast, whole)));
  CHECK(!facts::parse(commands::joined_probes(whole, fast)));
  CHECK(!facts::parse(commands::joined_probes(whole, "")));
}

TEST_CASE("programs on GPUs belong to the containers of their control groups") {
  const auto root = std::filesystem::temp_directory_path() / "gpuadm-test-gpu-users";
  std::filesystem::remove_all(root);
  const std::string uid = "0f1e2d3c-1111-2222-3333-444455556666", id(64, 'a');
  for (const char* pid : {"11", "12"}) std::filesystem::create_directories(root / "proc" / pid);
  std::ofstream(root / "proc/11/cgroup")
      << "0::/kubepods.slice/kubepods-pod0f1e2d3c_1111_2222_3333_444455556666.slice/cri-containerd-" << id
      << ".scope\n";
  std::ofstream(root / "proc/12/cgroup") << "0::/system.slice/sshd.service\n";
  std::filesystem::create_directories(root / "var/log/pods" / ("ml_train-0_" + uid));
  std::filesystem::create_directories(root / "var/log/containers");
  std::ofstream(root / "var/log/containers" / ("train-0_ml_main-" + id + ".log")) << "";
  facts::Nvidia nvidia;
  nvidia.gpus.resize(2);
  nvidia.gpus[1].uuid = "GPU-1";
  nvidia.gpus[1].processes = {
      {"11", "C", "python3", 2048}, {"12", "C", "bench", 1}, {"13", "C", "gone", 1}, {"../11", "C", "x", 1}};
  const auto users = commands::gpu_users(nvidia, root);
  REQUIRE(users.size() == 1);
  CHECK(users[0].uuid == "GPU-1");
  CHECK(users[0].ns == "ml");
  CHECK(users[0].pod == "train-0");
  CHECK(users[0].container == "main");
  CHECK(users[0].used_mib == 2048);
  std::filesystem::remove_all(root);
}

TEST_CASE("the slow half belongs to the GPUs that nvidia-smi lists, and to its silence") {
  const auto probe = [](const std::string& listed, const std::string& details) {
    return "gpuadm-probe 1\n=== nvidia-smi\n" + listed + "? 0\n=== nvidia-smi-uptime\n| 1 2\n" + details +
           "=== end\n";
  };
  const std::string details = "=== nvidia-smi-xml\n| <nvidia_smi_log>\n? 0\n";
  const std::string one = commands::listed_gpus(probe("| GPU 0: A (UUID: GPU-1)\n", details));
  CHECK(!one.empty());
  CHECK(one == commands::listed_gpus(probe("| GPU 0: A (UUID: GPU-1)\n", details + "=== units\n")));
  CHECK(one != commands::listed_gpus(probe("| GPU 0: A (UUID: GPU-2)\n", details)));
  CHECK(commands::listed_gpus(probe("| NVIDIA-SMI has failed\n", "")).empty());
  CHECK(commands::listed_gpus("gpuadm-probe 1\n=== end\n").empty());
}

TEST_CASE("the GPUs on the PCI bus are counted without the driver") {
  const auto bus = std::filesystem::temp_directory_path() / "gpuadm-test-gpus-on-bus";
  std::filesystem::remove_all(bus);
  const auto add = [&](const char* slot, const char* vendor, const char* kind) {
    std::filesystem::create_directories(bus / slot);
    std::ofstream(bus / slot / "vendor") << vendor << "\n";
    std::ofstream(bus / slot / "class") << kind << "\n";
  };
  CHECK(commands::gpus_on_bus(bus) == 0);
  add("0000:00:06.0", "0x10de", "0x030200");
  add("0000:00:07.0", "0x10de", "0x030000");
  add("0000:00:07.1", "0x10de", "0x040300");  // the sound of a display card
  add("0000:00:08.0", "0x10de", "0x068000");  // an NVSwitch
  add("0000:00:09.0", "0x102b", "0x030000");
  CHECK(commands::gpus_on_bus(bus) == 2);
  std::filesystem::remove_all(bus);
}
