#include "gpuadm/cluster/health_metrics.hpp"
#include "gpuadm/facts/facts.hpp"

#include <doctest/doctest.h>

namespace {

facts::Nvidia driver_of_two_gpus() {
  facts::Nvidia nvidia;
  nvidia.driver = facts::Driver{.version = "580.159.04"};
  for (int index = 0; index < 2; ++index) {
    facts::Gpu gpu{.index = index};
    gpu.uuid = "GPU-" + std::to_string(index);
    gpu.name = "NVIDIA H200";
    gpu.bus_id = index == 0 ? "0000:01:00.0" : "0000:02:00.0";
    gpu.readings = {{"utilization/gpu_util", "97 %"},
                    {"fb_memory_usage/used", "70000 MiB"},
                    {"gpu_power_readings/average_power_draw", "119.67 W"},
                    {"temperature/gpu_temp", index == 0 ? "29 C" : "Unknown Error"},
                    {"ecc_errors/volatile/sram_uncorrectable_parity", "1"},
                    {"ecc_errors/volatile/dram_uncorrectable", "2"},
                    {"remapped_rows/remapped_row_failure", "Yes"}};
    nvidia.gpus.push_back(gpu);
  }
  return nvidia;
}

cluster::HealthState state_of_node() {
  cluster::HealthState state;
  state.node = "gpu1";
  state.last.epoch = 1'790'000'000.7;
  state.gpus = 2;
  state.conditions = {{"GPUHealthy", "False", "", "", ""}};
  return state;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).contains("\n" + line + "\n");
}

}  // namespace

TEST_CASE(
    "metrics of GPUs have the names and labels of DCGM exporter, and those of the one pod that uses them") {
  const auto state = state_of_node();
  const facts::Nvidia nvidia = driver_of_two_gpus();
  const std::vector<cluster::GpuUser> users = {{"GPU-0", "ml", "train-0", "main", 70000}};
  const std::string text = cluster::to_prometheus({state, &nvidia, true, {}, users});
  const std::string first =
      R"({gpu="0",UUID="GPU-0",pci_bus_id="0000:01:00.0",device="nvidia0",modelName="NVIDIA H200",Hostname="gpu1",)"
      R"(DCGM_FI_DRIVER_VERSION="580.159.04",container="main",namespace="ml",pod="train-0"} )";
  CHECK(has_line(text, "DCGM_FI_DEV_GPU_UTIL" + first + "97"));
  CHECK(has_line(text, "DCGM_FI_DEV_FB_USED" + first + "70000"));
  CHECK(has_line(text, "DCGM_FI_DEV_POWER_USAGE" + first + "119.67"));
  CHECK(has_line(text, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL" + first + "3"));
  CHECK(has_line(text, "DCGM_FI_DEV_ROW_REMAP_FAILURE" + first + "1"));
  CHECK(has_line(text, "DCGM_FI_DEV_XID_ERRORS" + first + "0"));
  // A reading that is an error is not a value; one that no GPU has is not a metric.
  CHECK(text.find("DCGM_FI_DEV_GPU_TEMP{gpu=\"1\"") == std::string::npos);
  CHECK(text.find("DCGM_FI_DEV_MEMORY_TEMP") == std::string::npos);
  CHECK(has_line(text, R"(gpuadm_health_condition{node="gpu1",condition="GPUHealthy",status="false"} 1)"));
  CHECK(has_line(text, R"(gpuadm_health_condition{node="gpu1",condition="GPUHealthy",status="true"} 0)"));
  CHECK(has_line(text, "gpuadm_health_last_run_timestamp_seconds 1790000000"));
}

TEST_CASE(
    "a GPU that several pods share has a memory metric for each of them, and no pod labels of its own") {
  const auto state = state_of_node();
  const facts::Nvidia nvidia = driver_of_two_gpus();
  const std::vector<cluster::GpuUser> users = {
      {"GPU-1", "a", "one", "main", 1}, {"GPU-1", "a", "one", "main", 2}, {"GPU-1", "b", "two", "main", {}}};
  const std::string text = cluster::to_prometheus({state, &nvidia, true, {}, users});
  CHECK(text.find("DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"") != std::string::npos);
  CHECK(text.find(
            "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",UUID=\"GPU-1\",pci_bus_id=\"0000:02:00.0\",device=\"nvidia1\","
            "modelName=\"NVIDIA H200\",Hostname=\"gpu1\",DCGM_FI_DRIVER_VERSION=\"580.159.04\"} 97") !=
        std::string::npos);
  CHECK(has_line(
      text,
      R"(gpuadm_gpu_pod_memory_used_bytes{gpu="1",UUID="GPU-1",Hostname="gpu1",container="main",namespace="a",pod="one"} 3145728)"));
  CHECK(has_line(
      text,
      R"(gpuadm_gpu_pod_memory_used_bytes{gpu="1",UUID="GPU-1",Hostname="gpu1",container="main",namespace="b",pod="two"} NaN)"));
}

TEST_CASE("Xids are counted by GPU and number, and the last one is a metric of DCGM exporter") {
  const auto state = state_of_node();
  facts::Nvidia nvidia = driver_of_two_gpus();
  nvidia.xids = {{1, "0000:01:00.0", 79, ""},
                 {2, "0000:01:00.0", 79, ""},
                 {3, "0000:01:00.0", 31, ""},
                 {4, "0000:09:00.0", 13, ""}};
  const std::string text = cluster::to_prometheus({state, &nvidia, true, {}, {}});
  const std::string labels =
      R"({gpu="0",UUID="GPU-0",pci_bus_id="0000:01:00.0",device="nvidia0",modelName="NVIDIA H200",Hostname="gpu1",)"
      R"(DCGM_FI_DRIVER_VERSION="580.159.04")";
  CHECK(has_line(text, "DCGM_FI_DEV_XID_ERRORS" + labels + "} 31"));
  CHECK(has_line(text, R"(gpuadm_gpu_xids{gpu="0",UUID="GPU-0",Hostname="gpu1",xid="79"} 2)"));
  CHECK(text.find("xid=\"13\"") == std::string::npos);
}

TEST_CASE("without facts, as while nvidia-smi hangs, only the health is a metric") {
  const auto state = state_of_node();
  const std::string text = cluster::to_prometheus({state, nullptr, false, {}, {}});
  CHECK(text.find("gpuadm_health_condition") != std::string::npos);
  CHECK(text.find("DCGM") == std::string::npos);
}

TEST_CASE(
    "what was not read has no number in the metrics: Xids without the kernel's log, memory of a program") {
  const auto state = state_of_node();
  const facts::Nvidia nvidia = driver_of_two_gpus();
  const std::vector<cluster::GpuUser> users = {{"GPU-0", "ml", "train-0", "main", 100},
                                               {"GPU-0", "ml", "train-0", "main", std::nullopt}};
  const std::string text = cluster::to_prometheus({state, &nvidia, false, {}, users});
  CHECK(text.find("DCGM_FI_DEV_XID_ERRORS") == std::string::npos);
  CHECK(text.find("DCGM_FI_DEV_GPU_UTIL") != std::string::npos);
  CHECK(text.find("pod=\"train-0\"} NaN\n") != std::string::npos);
}
