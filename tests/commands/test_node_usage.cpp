#include "case_text.hpp"
#include "commands/operate/health/node_usage.hpp"
#include "commands/operate/health/rotated_file.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <fstream>

namespace {

const std::string one = "0f1e2d3c-1111-2222-3333-444455556666", two = "11111111-2222-4333-8444-555555555555";

std::filesystem::path empty_folder(const char* name) {
  auto folder = std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("a pod without a control group does not hold its GPU any more") {
  const auto root = empty_folder("gpuadm-test-allocations");
  CHECK(!commands::read_allocations(root));
  const std::string entries = R"({"PodUID":")" + one + R"(","DeviceIDs":["GPU-1"]},{"PodUID":")" + two +
                              R"(","DeviceIDs":["GPU-1","GPU-2"]})";
  write(root / "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
        R"({"Data":{"PodDeviceEntries":[)" + entries + R"(],"RegisteredDevices":{}},"Checksum":1})");
  // The kubelet's groups were not found: every pod counts.
  const auto all = commands::read_allocations(root);
  REQUIRE(all);
  CHECK(all->pods.at("GPU-1").size() == 2);
  std::filesystem::create_directories(root /
                                      "sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/"
                                      "kubepods-burstable-pod0f1e2d3c_1111_2222_3333_444455556666.slice");
  const auto running = commands::read_allocations(root);
  REQUIRE(running);
  CHECK(running->pods.at("GPU-1") == std::set<std::string>{one});
  CHECK(running->pods.at("GPU-2").empty());
  // Version 1, and a pod of the class Guaranteed.
  std::filesystem::create_directories(root / "sys/fs/cgroup/memory/kubepods" / ("pod" + two));
  CHECK(commands::read_allocations(root)->pods.at("GPU-2") == std::set<std::string>{two});
  write(root / "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint", R"({"Data":)");
  CHECK(!commands::read_allocations(root));
  std::filesystem::remove_all(root);
}

TEST_CASE(
    "programs that compute belong to pods or to nobody; what draws, and what has ended, does not count") {
  const auto root = empty_folder("gpuadm-test-gpu-programs");
  write(root / "proc/11/cgroup",
        "0::/kubepods.slice/kubepods-pod0f1e2d3c_1111_2222_3333_444455556666.slice/x.scope\n");
  write(root / "proc/12/cgroup", "0::/system.slice/docker-1.scope\n");
  facts::Nvidia nvidia;
  nvidia.gpus.resize(3);
  nvidia.gpus[0].uuid = "GPU-1";
  nvidia.gpus[0].processes = {{"11", "M+C", "python3", 1}, {"13", "C", "ended", 1}, {"../12", "C", "x", 1}};
  nvidia.gpus[1].uuid = "GPU-2";
  nvidia.gpus[1].processes = {{"12", "C", "bench", 1}};
  nvidia.gpus[2].uuid = "GPU-3";
  nvidia.gpus[2].processes = {{"12", "G", "Xorg", 1}};
  const auto programs = commands::gpu_programs(nvidia, root);
  CHECK(programs.size() == 2);
  CHECK(programs.at("GPU-1").pods == std::set<std::string>{one});
  CHECK(!programs.at("GPU-1").others);
  CHECK(programs.at("GPU-2").others);
  std::filesystem::remove_all(root);
}

TEST_CASE("the interval of the timer is that of its unit") {
  const auto root = empty_folder("gpuadm-test-timer");
  CHECK(commands::timer_interval(root) == 30);
  write(root / "etc/systemd/system/gpuadm-health.timer", "[Timer]\nOnActiveSec=5\nOnUnitInactiveSec=600\n");
  CHECK(commands::timer_interval(root) == 600);
  std::filesystem::remove_all(root);
}

TEST_CASE("a line that was cut off does not damage the next one, and a full file becomes the previous one") {
  const auto folder = empty_folder("gpuadm-test-rotated");
  write(folder / "usage.jsonl", "{\"a\":1}\n{\"cut");
  REQUIRE(commands::append_rotated(folder, "usage", 1000, "{\"b\":2}\n"));
  CHECK(case_text(folder / "usage.jsonl") == "{\"a\":1}\n{\"cut\n{\"b\":2}\n");
  REQUIRE(commands::append_rotated(folder, "usage", 10, "{\"c\":3}\n"));
  CHECK(case_text(folder / "usage.jsonl") == "{\"c\":3}\n");
  CHECK(case_text(folder / "usage.1.jsonl").ends_with("{\"b\":2}\n"));
  CHECK(!commands::append_rotated(folder / "none", "usage", 10, "x\n"));
  std::filesystem::remove_all(folder);
}
