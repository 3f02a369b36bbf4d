#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/text/words.hpp"

#include <algorithm>

namespace facts {

namespace {

/// "1234 (nvidia-smi) D 1 …": the name may contain any characters; the 20th word after it is the start time
/// of the process, in hundredths of a second after boot.
std::optional<Process> read_process(std::string_view line, std::optional<double> uptime) {
  const std::size_t open = line.find(" ("), close = line.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2)
    return std::nullopt;
  const auto pid = count(line.substr(0, open));
  const auto words = base::words(line.substr(close + 2));
  if (!pid || *pid > (1u << 30) || words.empty()) return std::nullopt;
  Process process{
      static_cast<int>(*pid), std::string(line.substr(open + 2, close - open - 2)), words[0][0], {}};
  const auto started = words.size() > 19 ? count(words[19]) : std::nullopt;
  if (started && uptime) process.age = *uptime - static_cast<double>(*started) / 100;
  return process;
}

/// "Node 0, zone   Normal  18262  16431 …"
void read_free_blocks(const Sections& sections, Facts& facts) {
  for (const std::string_view line : sections.lines("/proc/buddyinfo")) {
    const auto words = base::words(line);
    if (words.size() < 5 || words[0] != "Node" || words[2] != "zone") continue;
    FreeBlocks blocks{.zone = std::string(words[3])};
    blocks.node = static_cast<int>(
        std::min<std::uint64_t>(count(words[1].substr(0, words[1].find(','))).value_or(0), 1024));
    for (std::size_t i = 4; i < words.size(); ++i) blocks.orders.push_back(count(words[i]).value_or(0));
    facts.free_blocks.push_back(std::move(blocks));
  }
}

void add(std::optional<std::uint64_t>& sum, std::optional<std::uint64_t> more) {
  if (more) sum = sum.value_or(0) + *more;
}

/// "path value" lines of /sys and /proc.
void read_values(const Sections& sections, Facts& facts) {
  for (const std::string_view line : sections.lines("sysfs")) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    const std::string_view path = line.substr(0, space), value = base::trim(line.substr(space));
    const auto under = [&](std::string_view folder, std::string_view file) {
      return path.starts_with(folder) && path.ends_with(file);
    };
    if (path.ends_with("/current_clocksource")) facts.clocksource = std::string(value);
    if (path.ends_with("/scaling_governor")) facts.governor = std::string(value);
    if (under("/sys/devices/system/edac/", "/ce_count")) add(facts.ecc_corrected, count(value));
    if (under("/sys/devices/system/edac/", "/ue_count")) add(facts.ecc_uncorrected, count(value));
    if (path.ends_with("/nr_hugepages")) {
      const std::size_t at = path.find("hugepages-");
      const auto kib = count(path.substr(at + 10, path.find("kB", at) - at - 10));
      if (const auto reserved = count(value); kib && reserved) facts.huge_pages[*kib] = *reserved;
    }
    if (path == "/sys/module/mlx5_core/version") facts.mlx5_version = std::string(value);
    if (path == "/sys/module/nvidia_fs/version") facts.nvidia_fs_version = std::string(value);
    if (path == "/proc/net/stat/arp_cache") {
      std::uint64_t entries = 0;
      bool hex = true;
      for (const char c : value.substr(0, std::min(value.find(' '), std::size_t{8}))) {
        const std::size_t digit = std::string_view("0123456789abcdef").find(c);
        hex = hex && digit != std::string_view::npos;
        entries = entries * 16 + digit;
      }
      if (hex) facts.neighbours = entries;
    }
  }
}

/// `none [integrity] confidentiality`
std::string chosen(const std::string& text) {
  const std::size_t open = text.find('['), close = text.find(']');
  return open == std::string::npos || close == std::string::npos || close < open
             ? ""
             : text.substr(open + 1, close - open - 1);
}

void read_time_source(const Sections& sections, Facts& facts) {
  const Section* chrony = sections.find("chrony");
  if (!chrony || chrony->status != 0) return;
  // "Reference ID    : C0000235 (192.0.2.53)"; 00000000 without a server, 7F7F0101 for its own clock.
  for (const std::string_view line : chrony->lines)
    if (const auto words = base::words(line); words.size() > 3 && words[0] == "Reference")
      facts.time_server = words[3] == "00000000" || words[3] == "7F7F0101" ? "" : std::string(words.back());
}

void read_security(const Sections& sections, Facts& facts) {
  facts.lockdown = chosen(sections.first("/sys/kernel/security/lockdown").value_or(""));
  // Four bytes of attributes, then the value.
  if (const Section* variable = sections.find("secure-boot"); variable && variable->status == 0) {
    const std::string bytes = variable->first();
    if (const auto words = base::words(bytes); words.size() == 5) facts.secure_boot = words[4] == "1";
  }
  if (const Section* denials = sections.find("selinux-denials"))
    facts.selinux_denials.emplace(denials->lines.begin(), denials->lines.end());
  for (const auto& [path, kind] : facts.paths)
    if (path.starts_with("/sys/class/iommu/")) facts.iommus.push_back(path.substr(17));
  if (const Section* acs = sections.find("acs"); acs && acs->status == 0) facts.acs_bridges.emplace();
  for (const std::string_view line :
       facts.acs_bridges ? sections.lines("acs") : std::vector<std::string_view>{})
    if (line.find("SrcValid+") != std::string_view::npos)
      facts.acs_bridges->emplace_back(line.substr(0, line.find(' ')));
}

}  // namespace

void read_state(const Sections& sections, Facts& facts) {
  facts.command_line = sections.first("/proc/cmdline");
  // "0.00 0.01 0.05 1/128 25183": running and all threads.
  const std::string load = sections.first("/proc/loadavg").value_or("");
  if (const auto words = base::words(load); words.size() > 3)
    if (const auto slash = words[3].find('/'); slash != std::string_view::npos)
      facts.threads = count(words[3].substr(slash + 1));
  if (const Section* processes = sections.find("processes")) {
    facts.stuck.emplace();
    for (const std::string_view line : processes->lines)
      if (auto process = read_process(line, facts.uptime)) facts.stuck->push_back(std::move(*process));
  }
  for (const char* folder : {"/sys/fs/pstore/", "/var/lib/systemd/pstore/"})
    if (const Section* records = sections.find(folder)) {
      auto& all = facts.crash_records ? *facts.crash_records : facts.crash_records.emplace();
      for (const std::string_view name : records->lines) all.push_back(folder + std::string(name));
    }
  read_free_blocks(sections, facts);
  read_values(sections, facts);
  read_time_source(sections, facts);
  read_security(sections, facts);
}

}  // namespace facts
