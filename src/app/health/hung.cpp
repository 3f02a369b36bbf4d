#include "app/health/hung.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include <unistd.h>

namespace app {

namespace {

constexpr const char* service = "gpuadm-health.service";
constexpr long long too_long = 60;
// Fields of /proc/PID/stat after the name in parentheses, which may contain blanks.
constexpr std::size_t state_field = 0, start_field = 19;

std::string text_of_file(const std::filesystem::path& path) {
  return base::read_file(path).value_or(std::string());
}

}  // namespace

std::optional<HungProgram> hung_nvidia_smi(const std::filesystem::path& proc) {
  const std::string up = text_of_file(proc / "uptime");
  const auto uptime = base::to_real(up.substr(0, up.find(' ')));
  const bool in_service = text_of_file(proc / "self/cgroup").contains(service);
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
    const bool left = in_service && text_of_file(entry->path() / "cgroup").contains(service);
    const bool waits = fields[state_field] == "D" && age > too_long;
    if (left || waits) return HungProgram{static_cast<long>(*pid), age};
  }
  return std::nullopt;
}

}  // namespace app
