#include "gpuadm/report/metrics.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/health_metrics.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace cluster {

namespace {

using facts::Gpu;
using report::Labels;
using report::MetricsText;
using Type = MetricsText::Type;

/// How a value follows from the readings of `nvidia-smi -q -x`: the first that exists, the sum of those that
/// exist, or 1 for "Yes" and "Pending".
enum class From { first, sum, flag };

struct Metric {
  std::string_view name;
  Type type;
  std::string_view help;
  From from;
  std::array<std::string_view, 5> readings;
};

constexpr Metric gpu_metrics[] = {
    {"DCGM_FI_DEV_SM_CLOCK", Type::gauge, "SM clock frequency (in MHz).", From::first, {"clocks/sm_clock"}},
    {"DCGM_FI_DEV_MEM_CLOCK",
     Type::gauge,
     "Memory clock frequency (in MHz).",
     From::first,
     {"clocks/mem_clock"}},
    {"DCGM_FI_DEV_GPU_TEMP", Type::gauge, "GPU temperature (in C).", From::first, {"temperature/gpu_temp"}},
    {"DCGM_FI_DEV_MEMORY_TEMP",
     Type::gauge,
     "Memory temperature (in C).",
     From::first,
     {"temperature/memory_temp"}},
    {"DCGM_FI_DEV_POWER_USAGE",
     Type::gauge,
     "Power draw (in W).",
     From::first,
     {"gpu_power_readings/average_power_draw", "gpu_power_readings/power_draw",
      "gpu_power_readings/instant_power_draw"}},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
     Type::counter,
     "Total number of PCIe retries.",
     From::first,
     {"pci/replay_counter"}},
    {"DCGM_FI_DEV_GPU_UTIL", Type::gauge, "GPU utilization (in %).", From::first, {"utilization/gpu_util"}},
    {"DCGM_FI_DEV_MEM_COPY_UTIL",
     Type::gauge,
     "Memory utilization (in %).",
     From::first,
     {"utilization/memory_util"}},
    {"DCGM_FI_DEV_ENC_UTIL",
     Type::gauge,
     "Encoder utilization (in %).",
     From::first,
     {"utilization/encoder_util"}},
    {"DCGM_FI_DEV_DEC_UTIL",
     Type::gauge,
     "Decoder utilization (in %).",
     From::first,
     {"utilization/decoder_util"}},
    {"DCGM_FI_DEV_FB_FREE",
     Type::gauge,
     "Framebuffer memory free (in MiB).",
     From::first,
     {"fb_memory_usage/free"}},
    {"DCGM_FI_DEV_FB_USED",
     Type::gauge,
     "Framebuffer memory used (in MiB).",
     From::first,
     {"fb_memory_usage/used"}},
    {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
     Type::counter,
     "Total number of single-bit volatile ECC errors.",
     From::sum,
     {"ecc_errors/volatile/sram_correctable", "ecc_errors/volatile/dram_correctable",
      "ecc_errors/volatile/single_bit/total"}},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
     Type::counter,
     "Total number of double-bit volatile ECC errors.",
     From::sum,
     {"ecc_errors/volatile/sram_uncorrectable", "ecc_errors/volatile/sram_uncorrectable_parity",
      "ecc_errors/volatile/sram_uncorrectable_secded", "ecc_errors/volatile/dram_uncorrectable",
      "ecc_errors/volatile/double_bit/total"}},
    {"DCGM_FI_DEV_ECC_SBE_AGG_TOTAL",
     Type::counter,
     "Total number of single-bit persistent ECC errors.",
     From::sum,
     {"ecc_errors/aggregate/sram_correctable", "ecc_errors/aggregate/dram_correctable",
      "ecc_errors/aggregate/single_bit/total"}},
    {"DCGM_FI_DEV_ECC_DBE_AGG_TOTAL",
     Type::counter,
     "Total number of double-bit persistent ECC errors.",
     From::sum,
     {"ecc_errors/aggregate/sram_uncorrectable", "ecc_errors/aggregate/sram_uncorrectable_parity",
      "ecc_errors/aggregate/sram_uncorrectable_secded", "ecc_errors/aggregate/dram_uncorrectable",
      "ecc_errors/aggregate/double_bit/total"}},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
     Type::counter,
     "Number of remapped rows for uncorrectable errors",
     From::first,
     {"remapped_rows/remapped_row_unc"}},
    {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
     Type::counter,
     "Number of remapped rows for correctable errors",
     From::first,
     {"remapped_rows/remapped_row_corr"}},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE",
     Type::gauge,
     "Whether remapping of rows has failed",
     From::flag,
     {"remapped_rows/remapped_row_failure"}},
    {"DCGM_FI_DEV_ROW_REMAP_PENDING",
     Type::gauge,
     "Whether remapping of rows is pending",
     From::flag,
     {"remapped_rows/remapped_row_pending"}},
    {"gpuadm_gpu_power_limit_watts",
     Type::gauge,
     "Power limit that is in force.",
     From::first,
     {"gpu_power_readings/current_power_limit"}},
    {"gpuadm_gpu_sm_clock_max_megahertz",
     Type::gauge,
     "Highest SM clock frequency.",
     From::first,
     {"max_clocks/sm_clock"}},
};

/// "119.67 W"; text such as "Unknown Error" is not a value.
std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const std::string_view word = text.substr(0, text.find(' '));
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<double> value_of(const Metric& metric, const Gpu& gpu) {
  std::optional<double> sum;
  for (const std::string_view reading : metric.readings) {
    const auto found = gpu.readings.find(std::string(reading));
    if (reading.empty() || found == gpu.readings.end()) continue;
    if (metric.from == From::flag) {
      if (found->second == "Yes" || found->second == "Pending") return 1;
      return found->second == "No" ? std::optional(0.0) : std::nullopt;
    }
    const auto value = number_in(found->second);
    if (metric.from == From::first && value) return value;
    if (value) sum = sum.value_or(0) + *value;
  }
  return sum;
}

/// The labels of DCGM exporter. `users`: of this GPU.
Labels labels_of(const Gpu& gpu, const NodeMetrics& metrics, const std::vector<const GpuUser*>& users) {
  const auto& driver = metrics.nvidia->driver;
  const auto bus = gpu.readings.find("pci/pci_bus_id");
  Labels labels = {{"gpu", std::to_string(gpu.index)},
                   {"UUID", gpu.uuid},
                   {"pci_bus_id", bus == gpu.readings.end() ? gpu.bus_id : bus->second},
                   {"device", "nvidia" + std::to_string(gpu.index)},
                   {"modelName", gpu.name},
                   {"Hostname", metrics.state.node},
                   {"DCGM_FI_DRIVER_VERSION", driver ? driver->version : std::string()}};
  std::set<std::pair<std::string, std::string>> pods;
  std::set<std::string> containers;
  for (const GpuUser* user : users) {
    pods.emplace(user->ns, user->pod);
    containers.insert(user->container);
  }
  if (pods.size() != 1) return labels;
  labels.emplace_back("container", containers.size() == 1 ? *containers.begin() : std::string());
  labels.emplace_back("namespace", pods.begin()->first);
  labels.emplace_back("pod", pods.begin()->second);
  return labels;
}

/// The labels of metrics of our own: names in snake_case, except for two that join them with those of DCGM
/// exporter.
Labels own_labels(const Gpu& gpu, const NodeMetrics& metrics) {
  return {{"gpu", std::to_string(gpu.index)}, {"UUID", gpu.uuid}, {"Hostname", metrics.state.node}};
}

void add_health(MetricsText& text, const HealthState& state) {
  text.head("gpuadm_health_last_run_timestamp_seconds", Type::gauge,
            "Time of the last run of gpuadm health run.");
  text.sample({}, std::floor(state.last.epoch));
  text.head("gpuadm_health_condition", Type::gauge,
            "Conditions of the node: 1 for the status that a condition has, otherwise 0.");
  for (const HealthCondition& one : state.conditions)
    for (const char* status : {"True", "False", "Unknown"})
      text.sample({{"node", state.node}, {"condition", one.type}, {"status", base::lower(status)}},
                  one.status == status ? 1 : 0);
  text.head("gpuadm_health_sent", Type::gauge,
            "Whether the API server accepted the conditions and Events of the last run.");
  text.sample({{"node", state.node}}, state.problem.empty() ? 1 : 0);
  text.head("gpuadm_gpus", Type::gauge, "GPUs of the node: the most that a run has seen.");
  text.sample({{"node", state.node}}, state.gpus);
}

void add_xids(MetricsText& text, const NodeMetrics& metrics, const std::map<int, Labels>& labels) {
  std::map<std::string, const Gpu*> by_slot;
  for (const Gpu& gpu : metrics.nvidia->gpus) by_slot[gpu.bus_id] = &gpu;
  std::map<std::pair<const Gpu*, int>, int> counts;
  std::map<int, int> last;
  for (const facts::Xid& xid : metrics.nvidia->xids) {
    const auto gpu = by_slot.find(xid.slot);
    if (gpu == by_slot.end()) continue;
    ++counts[{gpu->second, xid.code}];
    last[gpu->second->index] = xid.code;
  }
  text.head("DCGM_FI_DEV_XID_ERRORS", Type::gauge, "Value of the last XID error encountered.");
  for (const auto& [index, list] : labels) text.sample(list, last.contains(index) ? last[index] : 0);
  text.head("gpuadm_gpu_xids", Type::gauge, "Xids of a GPU in the kernel's log since the boot, by number.");
  for (const auto& [key, count] : counts) {
    Labels list = own_labels(*key.first, metrics);
    list.emplace_back("xid", std::to_string(key.second));
    text.sample(list, count);
  }
}

void add_pods(MetricsText& text, const NodeMetrics& metrics) {
  constexpr double mebibyte = 1u << 20;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, double> used;
  for (const GpuUser& user : metrics.users)
    used[{user.uuid, user.ns, user.pod, user.container}] +=
        user.used_mib ? static_cast<double>(*user.used_mib) * mebibyte
                      : std::numeric_limits<double>::quiet_NaN();
  text.head("gpuadm_gpu_pod_memory_used_bytes", Type::gauge,
            "Memory of a GPU that a container uses; also where several pods share the GPU.");
  for (const auto& [key, bytes] : used) {
    const auto& [uuid, ns, pod, container] = key;
    const auto gpu = std::ranges::find(metrics.nvidia->gpus, uuid, &Gpu::uuid);
    if (gpu == metrics.nvidia->gpus.end()) continue;
    Labels list = own_labels(*gpu, metrics);
    list.insert(list.end(), {{"container", container}, {"namespace", ns}, {"pod", pod}});
    text.sample(list, bytes);
  }
}

}  // namespace

std::optional<double> reading_of(const Gpu& gpu, std::string_view metric) {
  const auto* found = std::ranges::find(gpu_metrics, metric, &Metric::name);
  return found == std::end(gpu_metrics) ? std::nullopt : value_of(*found, gpu);
}

std::string to_prometheus(const NodeMetrics& metrics) {
  MetricsText text;
  add_health(text, metrics.state);
  if (!metrics.findings.empty()) report::add_findings(text, metrics.findings);
  if (!metrics.nvidia || metrics.nvidia->gpus.empty()) return text.text();
  std::map<int, Labels> labels;
  for (const Gpu& gpu : metrics.nvidia->gpus) {
    std::vector<const GpuUser*> users;
    for (const GpuUser& user : metrics.users)
      if (user.uuid == gpu.uuid) users.push_back(&user);
    labels.emplace(gpu.index, labels_of(gpu, metrics, users));
  }
  for (const Metric& metric : gpu_metrics) {
    bool any = false;
    for (const Gpu& gpu : metrics.nvidia->gpus)
      if (const auto value = value_of(metric, gpu)) {
        if (!std::exchange(any, true)) text.head(metric.name, metric.type, metric.help);
        text.sample(metric.name.starts_with("gpuadm_") ? own_labels(gpu, metrics) : labels.at(gpu.index),
                    *value);
      }
  }
  if (metrics.has_log) add_xids(text, metrics, labels);
  add_pods(text, metrics);
  return text.text();
}

}  // namespace cluster
