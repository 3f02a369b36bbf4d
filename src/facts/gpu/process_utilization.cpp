#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/gpu_users.hpp"

#include <algorithm>
#include <set>

namespace facts {

std::vector<ProcessUtilization> parse_process_utilization(std::string_view output) {
  std::vector<ProcessUtilization> programs;
  std::set<int> measured;  // GPUs
  std::size_t gpu = 0, pid = 0, sm = 0, columns = 0;
  for (const std::string_view line : base::lines(output)) {
    auto words = base::words(line);
    if (words.empty()) continue;
    if (words[0] == "#") {
      // The second line of the head has the units.
      words.erase(words.begin());
      const auto column = [&](std::string_view name) {
        return static_cast<std::size_t>(std::ranges::find(words, name) - words.begin());
      };
      if (column("pid") == words.size()) continue;
      gpu = column("gpu");
      pid = column("pid");
      sm = column("sm");
      columns = words.size();
      continue;
    }
    if (words.size() <= std::max({gpu, pid, sm}) || words.size() < columns || columns == 0) continue;
    const auto index = base::to_int(words[gpu]);
    if (!index || *index < 0 || *index > 4096 || !base::to_int(words[pid])) continue;
    const auto percent = base::to_real(words[sm]);
    if (!percent && words[sm] != "-") continue;
    if (percent) measured.insert(static_cast<int>(*index));
    programs.push_back(
        {static_cast<int>(*index), std::string(words[pid]), std::clamp(percent.value_or(0) / 100, 0.0, 1.0)});
  }
  std::erase_if(programs, [&](const auto& one) { return !measured.contains(one.gpu); });
  return programs;
}

}  // namespace facts
