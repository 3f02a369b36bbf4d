#include "commands/operate/health/hung.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/gpu_sample.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace commands {

namespace {

constexpr const char* service = "gpuadm-health.service";
constexpr long long too_long = 60;
// Fields of /proc/PID/stat after the name in parentheses, which may contain blanks.
constexpr std::size_t state_field = 0, user_field = 11, kernel_field = 12, start_field = 19;

std::string text_of_file(const std::filesystem::path& path) {
  return base::read_file(path).value_or(std::string());
}

/// An nvidia-smi of the system in /proc.
struct Program {
  HungProgram program;
  bool left = false;   ///< by a former health run
  bool waits = false;  ///< uninterruptibly, and started more than a minute ago
  std::string work;    ///< its processor time
};

/// All user ids are root's. The name in this file has no newlines.
bool is_root(const std::filesystem::path& process) {
  const std::string text = text_of_file(process / "status");
  for (const std::string_view line : base::lines(text)) {
    if (!line.starts_with("Uid:")) continue;
    const auto ids = base::words(line.substr(4));
    return ids.size() == 4 && std::ranges::all_of(ids, [](std::string_view id) { return id == "0"; });
  }
  return false;
}

/// In no pod, in no slice of a user, and in no container with process numbers of its own.
bool is_of_host(const std::filesystem::path& process, const std::filesystem::path& self) {
  std::error_code error;
  const auto pid_ns = std::filesystem::read_symlink(process / "ns/pid", error);
  if (error || pid_ns != std::filesystem::read_symlink(self / "ns/pid", error)) return false;
  const std::string groups = text_of_file(process / "cgroup");
  return !groups.empty() && std::ranges::none_of(base::lines(groups), [](std::string_view line) {
    return line.contains("kubepods") || facts::is_group_of_user(line);
  });
}

/// Whether it runs this file, or one that an update has deleted there.
bool runs(const std::filesystem::path& process, const std::filesystem::path& program) {
  std::error_code error;
  if (std::filesystem::equivalent(process / "exe", program, error)) return true;
  return std::filesystem::read_symlink(process / "exe", error) ==
         std::filesystem::canonical(program, error).string() + " (deleted)";
}

/// Whether this is the service of health checks: the last component of the whole path, not a part of it.
bool is_service(std::string_view groups) {
  return std::ranges::any_of(base::lines(groups), [](std::string_view line) {
    return line.substr(line.rfind('/') + 1) == service && !facts::is_group_of_user(line);
  });
}

std::vector<Program> nvidia_smi_programs(const std::filesystem::path& proc,
                                         const std::filesystem::path& program) {
  const std::string up = text_of_file(proc / "uptime");
  const auto uptime = base::to_real(up.substr(0, up.find(' ')));
  const std::string own_groups = text_of_file(proc / "self/cgroup");
  const bool in_service = is_service(own_groups);
  std::vector<Program> found;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(proc, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto pid = base::to_int(entry->path().filename().string());
    if (!pid || !runs(entry->path(), program)) continue;
    if (!is_root(entry->path()) || !is_of_host(entry->path(), proc / "self")) continue;
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
                     in_service && text_of_file(entry->path() / "cgroup") == own_groups,
                     fields[state_field] == "D" && age > too_long,
                     fmt::format("{} {} {}", fields[start_field], fields[user_field], fields[kernel_field])});
  }
  return found;
}

}  // namespace

std::filesystem::path host_nvidia_smi() {
  std::error_code error;
  for (const char* folder : {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
                             "/usr/local/nvidia/bin", "/opt/nvidia/bin", "/usr/lib/wsl/lib"}) {
    std::filesystem::path path = std::filesystem::path(folder) / "nvidia-smi";
    if (std::filesystem::exists(path, error)) return path;
  }
  return {};
}

std::optional<HungProgram> hung_nvidia_smi(const std::filesystem::path& proc,
                                           const std::filesystem::path& program) {
  if (program.empty()) return std::nullopt;
  const auto first = nvidia_smi_programs(proc, program);
  for (const Program& one : first)
    if (one.left) return one.program;
  if (std::ranges::none_of(first, &Program::waits)) return std::nullopt;
  // One that shows values in a loop also waits for moments.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  for (const Program& now : nvidia_smi_programs(proc, program))
    for (const Program& before : first)
      if (now.program.pid == before.program.pid && now.waits && before.waits && now.work == before.work)
        return now.program;
  return std::nullopt;
}

}  // namespace commands
