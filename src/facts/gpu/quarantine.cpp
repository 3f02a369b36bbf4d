#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/nvidia.hpp"

#include <algorithm>
#include <cctype>

namespace facts {

namespace {

/// "GPU-" and a UUID (NVML's nvmlDeviceGetUUID).
bool is_uuid(std::string_view text) {
  constexpr std::string_view prefix = "GPU-";
  constexpr std::size_t length = 36;
  return text.starts_with(prefix) && text.size() == prefix.size() + length &&
         std::ranges::all_of(text.substr(prefix.size()), [](unsigned char c) {
           return c == '-' || std::isdigit(c) != 0 || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

std::optional<QuarantinedGpu> quarantined_in(std::string_view line) {
  const auto words = base::words(line);
  if (words.size() < 3 || !is_uuid(words[0])) return std::nullopt;
  const bool by_taint = words.size() > 3 && words[3] == taint_word;
  std::string reason;
  for (std::size_t i = by_taint ? 4 : 3; i < words.size(); ++i) {
    if (!reason.empty()) reason += ' ';
    reason += words[i];
  }
  return QuarantinedGpu{std::string(words[0]), std::string(words[1]), std::string(words[2]), reason,
                        by_taint};
}

std::string taint_rule_of(std::string_view uuid) {
  return "gpuadm-quarantine-" + base::lower(uuid.substr(std::min<std::size_t>(4, uuid.size())));
}

std::string since_text(const QuarantinedGpu& gpu) {
  return "since " + gpu.since + (gpu.reason.empty() ? "" : ": " + gpu.reason);
}

const QuarantinedGpu* quarantine_of(const Nvidia& nvidia, const Gpu& gpu) {
  const auto place = std::ranges::find(nvidia.quarantine, gpu.uuid, &QuarantinedGpu::uuid);
  return place == nvidia.quarantine.end() ? nullptr : &*place;
}

std::vector<const Gpu*> usable_gpus(const Nvidia& nvidia) {
  std::vector<const Gpu*> usable;
  for (const Gpu& gpu : nvidia.gpus)
    if (!quarantine_of(nvidia, gpu)) usable.push_back(&gpu);
  return usable;
}

}  // namespace facts
