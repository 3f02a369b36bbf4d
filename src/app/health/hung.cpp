#include "app/health/hung.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace app {

namespace {

constexpr const char* service = "gpuadm-health.service";
constexpr long long too_long = 60;
// Fields of /proc/PID/stat after the name in parentheses, which may contain blanks.
constexpr std::size_t state_field = 0, user_field = 11, kernel_field = 12, start_field = 19;

std::string text_of_file(const std::filesystem::path& path) {
  return base::read_file(path).value_or(std::string());
}

/// An nvidia-smi in /proc.
struct Program {
  HungProgram program;
  bool left = false;   ///< by a former health run
  bool waits = false;  ///< uninterruptibly, and started more than a minute ago
  std::string work;    ///< its processor time
};

std::vector<Program> nvidia_smi_programs(const std::filesystem::path& proc) {
  const std::string up = text_of_file(proc / "uptime");
  const auto uptime = base::to_real(up.substr(0, up.find(' ')));
  const bool in_service = text_of_file(proc / "self/cgroup").contains(service);
  std::vector<Program> found;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(proc, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto pid = base::to_int(entry->path().filename().string());
    if (!pid || base::trim(text_of_file(entry->path() / "comm")) != "nvidia-smi") continue;
    const std::string stat = text_of_file(entry->path() / "stat");
    const std::size_t end = stat.rfind(')');
    if (end == std::string::npos) continue;
    const auto fields = base::words(std::string_view(stat).substr(end + 1));
    if (fields.size() <= start_field) continue;
    const auto ticks = base::to_real(fields[start_field]);
    const auto hertz = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const auto age = uptime && ticks && hertz > 0 ? static_cast<long long>(*uptime - *ticks / hertz) : 0;
    // Only one run at a time starts programs in the service.
    found.push_back({{static_cast<long>(*pid), age},
                     in_service && text_of_file(entry->path() / "cgroup").contains(service),
                     fields[state_field] == "D" && age > too_long,
                     fmt::format("{} {} {}", fields[start_field], fields[user_field], fields[kernel_field])});
  }
  return found;
}

}  // namespace

std::optional<HungProgram> hung_nvidia_smi(const std::filesystem::path& proc) {
  const auto first = nvidia_smi_programs(proc);
  for (const Program& one : first)
    if (one.left) return one.program;
  if (std::ranges::none_of(first, &Program::waits)) return std::nullopt;
  // One that shows values in a loop also waits for moments.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  for (const Program& now : nvidia_smi_programs(proc))
    for (const Program& before : first)
      if (now.program.pid == before.program.pid && now.waits && before.waits && now.work == before.work)
        return now.program;
  return std::nullopt;
}

}  // namespace app
