#include "checks/gpu_see.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace checks {

bool lists_gpus(const Subject& s, Verdicts& out) {
  if (!s.facts.gpus.empty()) return true;
  out.skip(has_gpu(s.facts) ? "nvidia-smi lists no GPU" : "no NVIDIA GPU on the PCI bus");
  return false;
}

bool has_log(const Subject& s, Verdicts& out) {
  if (!has_gpu(s.facts))
    out.skip("no NVIDIA GPU on the PCI bus");
  else if (!s.facts.kernel_log)
    out.unknown("the kernel's log could not be read");
  return has_gpu(s.facts) && s.facts.kernel_log;
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

std::string name_of(const facts::Gpu& gpu) {
  return fmt::format("GPU {} ({})", gpu.index, gpu.name);
}

void judge(const Subject& s, Verdicts& out, Severity severity, const Rule& rule) {
  if (!lists_gpus(s, out)) return;
  bool any = false;
  for (const facts::Gpu& gpu : s.facts.gpus) {
    std::vector<std::string> seen;
    for (const Reading& reading : rule.readings) {
      const auto value = word(gpu, reading.path);
      if (!value) continue;
      any = true;
      if (rule.bad(*value)) seen.push_back(fmt::format("{}: {}", reading.name, *value));
    }
    if (!seen.empty())
      out.fail(severity, base::replace_all(rule.says, "{}", name_of(gpu)), list(seen),
               base::replace_all(rule.remedy, "{i}", std::to_string(gpu.index)));
  }
  if (!any) out.skip("the GPUs here do not report it");
}

std::vector<std::string> log_lines(const facts::Facts& facts, std::span<const std::string_view> words) {
  std::vector<std::string> found;
  if (facts.kernel_log)
    for (const facts::LogLine& line : *facts.kernel_log)
      if (std::ranges::any_of(
              words, [&](std::string_view word) { return line.text.find(word) != std::string::npos; }))
        found.push_back(line.text);
  return found;
}

std::string last_of(const std::vector<std::string>& lines) {
  return lines.size() == 1 ? lines.front()
                           : fmt::format("{} lines, the last: {}", lines.size(), lines.back());
}

}  // namespace checks
