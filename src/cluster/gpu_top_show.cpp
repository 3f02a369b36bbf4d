#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/gpu_top.hpp"
#include "gpuadm/report/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace cluster {

namespace {

using Cells = std::vector<std::string>;
constexpr std::size_t wide_enough = 150;  ///< columns in which programs also have their names

std::string number(const std::optional<double>& value, std::string_view unit = "") {
  return value ? fmt::format("{:.0f}{}", *value, unit) : "-";
}

std::string gib(const std::optional<double>& mib) {
  return mib ? fmt::format("{:.1f}", *mib / 1024) : "-";
}

std::string memory(const std::optional<double>& used, const std::optional<double>& total) {
  if (!used && !total) return "-";
  return fmt::format("{}/{}", gib(used), gib(total));
}

std::string power(const facts::GpuReading& gpu) {
  if (!gpu.power && !gpu.power_limit) return "-";
  return fmt::format("{}/{}", number(gpu.power), number(gpu.power_limit));
}

/// The reason that a person can act on, in short: "power cap, thermal".
std::string throttled(const facts::GpuReading& gpu) {
  if (!gpu.fault.empty()) return gpu.fault;
  if (!gpu.clock_reasons) return "-";
  static const std::map<std::string, std::string> words = {{"applications_clocks_setting", "clocks set"},
                                                           {"sw_power_cap", "power cap"},
                                                           {"sync_boost", "sync boost"},
                                                           {"sw_thermal_slowdown", "thermal"},
                                                           {"hw_thermal_slowdown", "HW thermal"},
                                                           {"hw_power_brake_slowdown", "power brake"},
                                                           {"display_clock_setting", "display"},
                                                           {"hw_slowdown", "HW slowdown"}};
  std::vector<std::string> found;
  for (const std::string& reason : facts::throttle_reasons(*gpu.clock_reasons)) {
    // The driver also slows a GPU down if only its memory is too hot.
    const bool is_memory = reason == "sw_thermal_slowdown" && gpu.memory_temperature && gpu.temperature &&
                           *gpu.memory_temperature > *gpu.temperature;
    found.push_back(words.at(reason) +
                    (is_memory ? fmt::format(" (memory {:.0f}C)", *gpu.memory_temperature) : ""));
  }
  return found.empty() ? "no" : base::join(found, ", ");
}

/// Whether pods and containers have the names of their programs.
enum class Names { omitted, shown };

/// The users of a GPU, each once, the largest first.
std::string used_by(const TopGpu& gpu, Names names) {
  if (!gpu.programs_read) return "unknown";
  struct User {
    std::string label;
    double mib = 0;
    bool known = true;
    std::vector<std::string> programs;
  };
  std::vector<User> users;
  for (const TopProgram& program : gpu.programs) {
    const std::string label = program.label();
    auto user = std::ranges::find(users, label, &User::label);
    if (user == users.end()) user = users.insert(user, User{label, 0, true, {}});
    user->mib += program.used_mib.value_or(0);
    user->known = user->known && program.used_mib;
    if (!program.pod.empty() || !program.container.empty())
      user->programs.push_back(fmt::format(
          "{} {}", program.name.empty() ? "pid" : program.name.substr(program.name.rfind('/') + 1),
          program.pid));
  }
  std::ranges::stable_sort(users, std::greater<>(), &User::mib);
  std::vector<std::string> parts;
  for (const User& user : users) {
    std::string text = user.label;
    if (names == Names::shown && !user.programs.empty()) text += " (" + base::join(user.programs, ", ") + ")";
    if (user.known) text += fmt::format(" {:.1f} GiB", user.mib / 1024);
    parts.push_back(std::move(text));
  }
  std::string named = parts.empty() ? "nobody" : base::join(parts, ", ");
  if (parts.empty() && !gpu.reserved.empty()) named = "idle, reserved by " + base::join(gpu.reserved, ", ");
  return gpu.reading.quarantine ? "in quarantine, " + named : named;
}

Cells cells_of(const TopGpu& gpu, Names names) {
  const facts::GpuReading& r = gpu.reading;
  return {gpu.host,
          std::to_string(r.index),
          r.model.empty() ? "unknown" : r.model,
          number(r.utilization, "%"),
          memory(r.used_mib, r.total_mib),
          number(r.temperature, "C"),
          power(r),
          number(r.sm_clock),
          throttled(r),
          used_by(gpu, names)};
}

Cells cells_of(const TopGpu& gpu, const facts::MigInstance& instance) {
  return {gpu.host,
          fmt::format("{}:{}", gpu.reading.index, instance.index),
          "MIG " + instance.profile,
          "-",
          memory(instance.used_mib, instance.total_mib),
          "-",
          "-",
          "-",
          "-",
          ""};
}

void drop(std::vector<Cells>& table, std::string_view name) {
  const auto at = std::ranges::find(table.front(), name) - table.front().begin();
  for (Cells& line : table) line.erase(line.begin() + at);
}

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  for (const std::string_view line : base::lines(text)) most = std::max(most, line.size());
  return most;
}

/// The table fits if columns without which a GPU can still be identified are omitted; the users are truncated
/// last.
std::string fitted(std::vector<Cells> table, std::size_t width) {
  constexpr std::size_t least_for_users = 24;
  for (const std::string_view name : {"MODEL", "SM MHZ", "POWER W", "THROTTLED", "TEMP"}) {
    if (width == 0) break;
    std::vector<Cells> shortened = table;
    for (Cells& line : shortened) line.back() = line.back().substr(0, least_for_users);
    if (widest(report::columns(std::move(shortened))) <= width) break;
    drop(table, name);
  }
  const std::size_t last = table.front().size() - 1;
  return report::columns(std::move(table), width, {last, 0}, report::Overflow::truncated);
}

std::string line_of(const TopHost& host) {
  const std::string why = host.why.empty() ? "" : ": " + host.why;
  if (host.state == TopHost::State::no_smi) return host.host + ": nvidia-smi was not found";
  if (host.state == TopHost::State::partial) return host.host + why;
  const bool failed = host.state == TopHost::State::failed;
  return fmt::format("{}: {} for {:.0f}s{}", host.host, failed ? "no readings" : "not answering",
                     host.seconds, why);
}

std::string summary(const TopFrame& frame) {
  std::set<std::string> hosts;
  double utilization = 0, power = 0, limit = 0, used = 0, total = 0;
  int known = 0;
  for (const TopGpu& gpu : frame.gpus) {
    const facts::GpuReading& r = gpu.reading;
    hosts.insert(gpu.host);
    if (r.utilization) utilization += *r.utilization;
    known += r.utilization ? 1 : 0;
    if (r.power && r.power_limit) {
      power += *r.power;
      limit += *r.power_limit;
    }
    if (r.used_mib && r.total_mib) {
      used += *r.used_mib;
      total += *r.total_mib;
    }
  }
  std::string text =
      fmt::format("{} GPU{} on {} host{}", frame.gpus.size(), frame.gpus.size() == 1 ? "" : "s", hosts.size(),
                  hosts.size() == 1 ? "" : "s");
  if (known > 0) text += fmt::format(": utilization {:.0f}%", utilization / known);
  if (total > 0) text += fmt::format(", memory {:.1f} of {:.1f} GiB", used / 1024, total / 1024);
  if (limit > 0) text += fmt::format(", power {:.2f} of {:.2f} kW", power / 1000, limit / 1000);
  return text + "\n";
}

}  // namespace

std::string to_text(const TopFrame& frame, std::size_t width) {
  std::vector<Cells> table = {
      {"NODE", "GPU", "MODEL", "UTIL", "MEMORY GIB", "TEMP", "POWER W", "SM MHZ", "THROTTLED", "USED BY"}};
  const Names names = width == 0 || width >= wide_enough ? Names::shown : Names::omitted;
  for (const TopGpu& gpu : frame.gpus) {
    table.push_back(cells_of(gpu, names));
    for (const facts::MigInstance& instance : gpu.reading.instances) table.push_back(cells_of(gpu, instance));
  }
  for (Cells& line : table)
    for (std::string& cell : line) cell = base::printable(base::replace_all(std::move(cell), "\n", " "), 300);
  std::string text = summary(frame);
  if (table.size() > 1) text += fitted(std::move(table), width);
  const auto add_line = [&](std::string line) {
    line = base::printable(base::replace_all(std::move(line), "\n", " "), 400);
    text += (width > 3 && line.size() > width ? line.substr(0, width - 3) + "..." : line) + "\n";
  };
  for (const TopGpu& gpu : frame.gpus)
    if (gpu.reading.quarantine)
      add_line(fmt::format("{} GPU {}: in quarantine {}", gpu.host, gpu.reading.index,
                           facts::since_text(*gpu.reading.quarantine)));
  for (const TopHost& host : frame.hosts) add_line(line_of(host));
  return text;
}

}  // namespace cluster
