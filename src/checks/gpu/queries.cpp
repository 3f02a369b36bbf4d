#include "checks/gpu/queries.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace checks {

bool lists_gpus(const Subject& s, Verdicts& out) {
  if (!s.facts.nvidia.gpus.empty()) return true;
  if (!is_gpu_host(s, out)) return false;
  if (!s.facts.nvidia.driver && s.facts.nvidia.smi_status.value_or(0) == 0)
    out.skip("no NVIDIA driver is loaded");
  else
    out.unknown("nvidia-smi lists no GPU");
  return false;
}

bool has_log(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return false;
  if (!s.facts.kernel.log) out.unknown("the kernel's log could not be read");
  return s.facts.kernel.log.has_value();
}

bool runs_in_container(const facts::Facts& facts) {
  return facts.software.paths.contains("/run/nvidia/driver") ||
         std::ranges::any_of(facts.nvidia.libraries,
                             [](const std::string& path) { return path.starts_with("/run/nvidia/driver/"); });
}

bool has_toolkit_of_container(const facts::Facts& facts) {
  constexpr std::string_view folder = "/usr/local/nvidia/toolkit";
  if (facts.software.paths.contains(std::string(folder))) return true;
  const auto names = [&](const std::optional<std::string>& text) { return text && text->contains(folder); };
  const auto& runtime = facts.runtime;
  if (runtime.containerd && (names(runtime.containerd->dump) || names(runtime.containerd->config)))
    return true;
  if (runtime.docker && names(runtime.docker->daemon_json)) return true;
  return runtime.crio_config && std::ranges::any_of(runtime.crio_config->texts, [&](const auto& file) {
           return file.second.contains(folder);
         });
}

bool is_wsl(const facts::Facts& facts) {
  return facts.software.paths.contains("/dev/dxg") || facts.kernel.release.contains("microsoft-standard-WSL");
}

std::optional<std::string> word(const facts::Gpu& gpu, const std::string& path) {
  const auto place = gpu.readings.find(path);
  return place == gpu.readings.end() ? std::nullopt : std::optional(place->second);
}

std::optional<double> number(const facts::Gpu& gpu, const std::string& path) {
  const auto text = word(gpu, path);
  if (!text) return std::nullopt;
  return base::to_real(text->substr(0, text->find_first_of(" x")));  // "35 C", "16x"
}

void report_unread(const Subject& s, Verdicts& out, std::initializer_list<const char*> paths) {
  for (const facts::Gpu& gpu : s.facts.nvidia.gpus)
    for (const char* path : paths)
      if (const auto text = word(gpu, path); text && !number(gpu, path))
        out.unknown(fmt::format("{}: {} is {}", name_of(gpu), path, *text));
}

std::string model_name(const Subject& s, const facts::PciGpu& gpu) {
  const GpuModel* model = s.data.find_gpu(gpu.device_id, gpu.subsystem);
  return model ? fmt::format("{} ({})", model->name, gpu.slot)
               : fmt::format("10de:{} ({})", gpu.device_id, gpu.slot);
}

std::string name_of(const facts::Gpu& gpu) {
  return gpu.name.empty() ? fmt::format("GPU {}", gpu.index)
                          : fmt::format("GPU {} ({})", gpu.index, gpu.name);
}

void judge(const Subject& s, Verdicts& out, Severity severity, const Rule& rule) {
  if (!lists_gpus(s, out)) return;
  bool any = false;
  std::vector<std::string> unread;
  for (const facts::Gpu& gpu : s.facts.nvidia.gpus) {
    std::vector<std::string> seen;
    for (const Reading& reading : rule.readings) {
      const auto value = word(gpu, reading.path);
      if (!value) continue;
      any = true;
      const auto bad = rule.bad(*value);
      const std::string said = fmt::format("{}: {}", reading.name, *value);
      if (!bad)
        unread.push_back(fmt::format("{}: {}", name_of(gpu), said));
      else if (*bad)
        seen.push_back(said);
    }
    if (!seen.empty())
      out.fail(severity, base::replace_all(rule.message, "{}", name_of(gpu)), list(seen),
               base::replace_all(base::replace_all(rule.remedy, "{i}", std::to_string(gpu.index)), "{host}",
                                 s.host.name));
  }
  if (!any) return out.skip("the GPUs do not report it");
  if (!unread.empty()) out.unknown(list(unread));
}

std::vector<std::string> log_lines(const facts::Facts& facts, std::span<const std::string_view> words) {
  std::vector<std::string> found;
  if (facts.kernel.log)
    for (const facts::LogLine& line : *facts.kernel.log)
      if (std::ranges::any_of(
              words, [&](std::string_view word) { return line.text.find(word) != std::string::npos; }))
        found.push_back(line.text);
  return found;
}

std::string last_of(const std::vector<std::string>& lines) {
  return lines.size() == 1 ? lines.front()
                           : fmt::format("{} lines, the last: {}", lines.size(), lines.back());
}

std::string ignores_quarantine(const Subject& s, const facts::QuarantinedGpu& entry) {
  const spec::Gpu& gpu = s.cluster.gpu;
  if (gpu.stack == spec::GpuStack::gpu_operator) return "the GPU Operator's device plugin";
  if (gpu.allocator == spec::Allocator::dra)
    return entry.by_taint && !has_mig(s.facts.nvidia) ? "" : "NVIDIA's DRA driver";
  if (gpu.strategy == spec::DeviceStrategy::cdi) return "the device plugin with gpu.strategy: cdi";
  return has_mig(s.facts.nvidia) ? "the device plugin on a host with MIG" : "";
}

std::string since(const Subject& s) {
  const auto& log = *s.facts.kernel.log;
  if (log.empty() || log.front().seconds < 120 || !s.facts.kernel.uptime) return "since boot";
  return "in the last " + base::human_seconds(*s.facts.kernel.uptime - log.front().seconds);
}

}  // namespace checks
