#include "checks/gpu/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using facts::Gpu;

constexpr const char* clocks = "clocks_event_reasons/clocks_event_reason_";

std::optional<bool> is_active(std::string_view value) {
  return value == "Active" || value == "Not Active" ? std::optional(value == "Active") : std::nullopt;
}

bool slows(const Gpu& gpu, const char* reason) {
  return word(gpu, std::string(clocks) + reason) == "Active";
}

/// A value that must keep a distance of `margin` from its limit.
struct Heat {
  const char* value;
  const char* limit;  ///< nullptr: the value is the margin itself, as reported by Hopper and newer
  const char* name;
  double margin;
};
constexpr std::array heats = std::to_array<Heat>({
    {"temperature/gpu_temp", "temperature/gpu_temp_slow_threshold", "GPU", 5},
    {"temperature/gpu_temp_tlimit", nullptr, "GPU below its limit", 5},
    {"temperature/memory_temp", "temperature/gpu_temp_max_mem_threshold", "memory", 0},
});

/// " (GPU 57 C, memory 96 C)": the limit that is near can be that of either.
std::string temperatures_of(const Gpu& gpu) {
  const auto core = number(gpu, "temperature/gpu_temp"), memory = number(gpu, "temperature/memory_temp");
  if (!core && !memory) return {};
  const auto text = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.0f} C", *value) : std::string("unknown");
  };
  return fmt::format(" (GPU {}, memory {})", text(core), text(memory));
}

void temperature(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  report_unread(s, out, {"temperature/gpu_temp", "temperature/gpu_temp_tlimit", "temperature/memory_temp"});
  bool any = false;
  for (const Gpu& gpu : s.facts.nvidia.gpus)
    for (const Heat& heat : heats) {
      const auto value = number(gpu, heat.value);
      const auto limit = heat.limit ? number(gpu, heat.limit) : std::optional(0.0);
      if (!value || !limit) continue;
      any = true;
      const double margin = heat.limit ? *limit - *value : *value;
      if (margin < heat.margin)
        out.fail(Severity::warning, fmt::format("{} is too hot", name_of(gpu)),
                 heat.limit ? fmt::format("{}: {:.0f} C, limit {:.0f} C", heat.name, *value, *limit)
                            : fmt::format("{}: {:.0f} C{}", heat.name, *value, temperatures_of(gpu)),
                 "check fans, dust and the air temperature; nvidia-smi -q -d TEMPERATURE shows all readings");
    }
  if (!any && out.silent()) out.skip("the GPUs do not report it");
}

constexpr std::array thermal = std::to_array<Reading>({
    {"clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown", "thermal slowdown by the hardware"},
    {"clocks_event_reasons/clocks_event_reason_sw_thermal_slowdown", "thermal slowdown by the driver"},
});

void thermal_slowdown(const Subject& s, Verdicts& out) {
  judge(s, out, gpu_severity(s),
        {.readings = thermal,
         .bad = is_active,
         .message = "{} runs slower because it is too hot",
         .remedy =
             "check fans, dust and the air temperature; if they are good, have the GPU's cooler serviced"});
}

void power_brake(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  bool any = false;
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    any = any || word(gpu, std::string(clocks) + "hw_slowdown");
    // The general flag is also set by heat, which has its own check.
    const bool other = slows(gpu, "hw_slowdown") && !slows(gpu, "hw_thermal_slowdown");
    if (slows(gpu, "hw_power_brake_slowdown") || other)
      out.fail(
          gpu_severity(s),
          fmt::format("{} runs slower because of a power brake signal of the power supply", name_of(gpu)),
          other ? "hardware slowdown: Active" : "power brake: Active",
          "check the power supplies and their cables (ipmitool sdr type 'Power Supply')");
  }
  if (!any) out.skip("the GPUs do not report it");
}

void power_limit(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  report_unread(s, out, {"gpu_power_readings/current_power_limit", "gpu_power_readings/default_power_limit"});
  bool any = false;
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    const auto limit = number(gpu, "gpu_power_readings/current_power_limit");
    const auto usual = number(gpu, "gpu_power_readings/default_power_limit");
    if (!limit || !usual) continue;
    any = true;
    if (*limit < *usual)
      out.fail(Severity::warning, fmt::format("{} has a power limit below its default", name_of(gpu)),
               fmt::format("limit {:.0f} W, default {:.0f} W", *limit, *usual),
               fmt::format("if this is not intended: nvidia-smi -i {} -pl {:.0f}", gpu.index, *usual));
  }
  if (!any && out.silent()) out.skip("the GPUs do not report it");
}

/// If every GPU is at its power limit, the load is full; one of several identical GPUs gets less power or
/// wastes more.
void power_cap(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  std::vector<const Gpu*> capped;
  std::size_t busy = 0;
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    if (number(gpu, "utilization/gpu_util").value_or(0) < 50) continue;
    ++busy;
    if (slows(gpu, "sw_power_cap")) capped.push_back(&gpu);
  }
  if (busy < 2) return out.skip("fewer than two GPUs are busy");
  if (capped.size() * 2 < busy)
    for (const Gpu* gpu : capped)
      out.fail(Severity::note,
               fmt::format("{} is at its power limit, other busy GPUs are not", name_of(*gpu)),
               fmt::format("limit {}, drawing {}",
                           word(*gpu, "gpu_power_readings/current_power_limit").value_or("unknown"),
                           word(*gpu, "gpu_power_readings/average_power_draw")
                               .value_or(word(*gpu, "gpu_power_readings/power_draw").value_or("unknown"))),
               "compare limits and temperatures: nvidia-smi -q -d POWER,TEMPERATURE");
}

void clocks_uniform(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  report_unread(s, out, {"max_clocks/sm_clock"});
  std::map<std::string, double> most;
  for (const Gpu& gpu : s.facts.nvidia.gpus)
    if (const auto clock = number(gpu, "max_clocks/sm_clock"))
      most[gpu.name] = std::max(most[gpu.name], *clock);
  if (most.empty()) return out.skip("the GPUs do not report it");
  for (const Gpu& gpu : s.facts.nvidia.gpus)
    if (const auto clock = number(gpu, "max_clocks/sm_clock"); clock && *clock < most[gpu.name] * 0.95)
      out.fail(Severity::warning,
               fmt::format("{} has a lower maximum clock than other GPUs of its model", name_of(gpu)),
               fmt::format("at most {:.0f} MHz, others {:.0f} MHz", *clock, most[gpu.name]),
               fmt::format("nvidia-smi -i {0} -rgc && nvidia-smi -i {0} -rac", gpu.index));
}

/// NVIDIA publishes no temperature at which fans start; this one is a choice.
constexpr double warm = 60;

/// The reading is the speed that the driver requests, not the actual one.
void fan(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  report_unread(s, out, {"fan_speed"});
  bool any = false;
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    const auto speed = number(gpu, "fan_speed");
    if (!speed) continue;
    any = true;
    const double heat = number(gpu, "temperature/gpu_temp").value_or(0);
    if (*speed == 0 && heat > warm)
      out.fail(Severity::note,
               fmt::format("the fan of {} is set to 0 % although the GPU is warm", name_of(gpu)),
               fmt::format("0 %, {:.0f} C", heat),
               "if the speed was set by hand: nvidia-settings -a GPUFanControlState=0; otherwise watch the "
               "temperature under load");
  }
  if (!any && out.silent()) out.skip("the GPUs have no fans of their own");
}

constexpr std::array gpu_power_rows = std::to_array<Check>({
    {"gpu.health.temperature", "the GPUs are not too hot", "a hot GPU slows down, then shuts down",
     "pci nvidia-smi nvidia-smi-xml", preflight | node, temperature},
    {"gpu.health.thermal-slowdown", "no GPU is throttled by heat", "one slow GPU slows down the whole job",
     "pci nvidia-smi nvidia-smi-xml", preflight | node, thermal_slowdown},
    {"gpu.health.power-brake", "no GPU is throttled by the power supply",
     "a weak power supply slows down the GPU", "pci nvidia-smi nvidia-smi-xml", preflight | node,
     power_brake},
    {"gpu.health.power-limit", "the GPUs have at least their default power limit",
     "a lower limit makes them slower", "pci nvidia-smi nvidia-smi-xml", preflight | node, power_limit},
    {"gpu.health.sw-power-cap", "all busy GPUs reach their power limit or none does",
     "a single GPU at its limit slows down a job", "pci nvidia-smi nvidia-smi-xml", preflight | node,
     power_cap},
    {"gpu.health.clocks-uniform", "GPUs of one model have the same maximum clock",
     "one slow GPU slows down the whole job", "pci nvidia-smi nvidia-smi-xml", preflight | node,
     clocks_uniform},
    {"gpu.health.fan", "no fan is set to 0 % on a warm GPU", "a GPU overheats when its fan stands still",
     "pci nvidia-smi nvidia-smi-xml", preflight | node, fan},
});

}  // namespace

std::span<const Check> gpu_power_checks() {
  return gpu_power_rows;
}

}  // namespace checks
