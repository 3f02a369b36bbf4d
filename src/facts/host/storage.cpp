#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/text/words.hpp"

#include <algorithm>

namespace facts {

namespace {

/// "/sys/block/sda/queue/rotational 1", "/sys/block/md0/md/degraded 0", "/sys/class/nvme/nvme0/state live"
void read_block_devices(const Sections& sections, Facts& facts) {
  std::map<std::string, BlockDevice, std::less<>> devices;
  for (const std::string_view line : sections.lines("sysfs")) {
    const auto words = base::words(line);
    const auto parts = base::split(words.empty() ? line : words[0], '/');
    if (words.size() != 2 || parts.size() < 6) continue;
    if (line.starts_with("/sys/class/nvme/")) facts.nvme_states.emplace(parts[4], words[1]);
    if (!line.starts_with("/sys/block/")) continue;
    BlockDevice& device = devices[std::string(parts[3])];
    device.name = std::string(parts[3]);
    const std::string_view file = parts.back();
    if (file == "rotational") device.rotational = words[1] == "1";
    if (file == "name") device.volume = std::string(words[1]);
    if (file == "degraded") device.degraded = count(words[1]);
    if (file == "array_state") device.array_state = std::string(words[1]);
  }
  for (auto& [name, device] : devices) facts.block_devices.push_back(std::move(device));
}

/// "/dev/nvme0 Percentage Used:                    3%"
void read_drives(const Sections& sections, Facts& facts) {
  for (const std::string_view line : sections.lines("smart")) {
    const std::size_t space = line.find(' '), colon = line.find(':');
    if (space == std::string_view::npos || colon == std::string_view::npos) continue;
    const std::string_view device = line.substr(0, space);
    std::string value(base::trim(line.substr(colon + 1)));
    if (facts.drives.empty() || facts.drives.back().device != device)
      facts.drives.push_back({.device = std::string(device)});
    DriveHealth& drive = facts.drives.back();
    if (line.find("self-assessment") != std::string_view::npos ||
        line.find("Health Status") != std::string_view::npos)
      drive.passed = value == "PASSED" || value == "OK";
    if (line.find(" Critical Warning:") != std::string_view::npos) drive.critical = value;
    if (line.find(" Percentage Used:") != std::string_view::npos) {
      if (value.ends_with('%')) value.pop_back();
      drive.wear = count(value);
    }
  }
}

/// The 99th percentile: `name_bucket{le="0.008"} 1234`, with cumulative counts.
std::optional<double> slowest(const Section& metrics, std::string_view name) {
  std::vector<std::pair<double, double>> buckets;
  double all = 0;
  for (const std::string_view line : metrics.lines) {
    if (!line.starts_with(name)) continue;
    const auto words = base::words(line);
    const double times = words.size() == 2 ? base::to_real(words[1]).value_or(-1) : -1;
    const std::size_t le = line.find("le=\"");
    if (times < 0) continue;
    const bool bounded = le != std::string_view::npos && line.find("+Inf") == std::string_view::npos;
    if (le == std::string_view::npos) all = times;
    if (!bounded) continue;
    if (const auto bound = base::to_real(line.substr(le + 4, line.find('"', le + 4) - le - 4)))
      buckets.emplace_back(*bound, times);
  }
  // A few writes are not significant.
  if (all < 100) return std::nullopt;
  std::sort(buckets.begin(), buckets.end());
  double lower = 0, before = 0;
  for (const auto& [bound, below] : buckets) {
    // Values are assumed to be evenly distributed within a bucket, as in Prometheus.
    if (below >= all * 0.99)
      return lower + (bound - lower) * (all * 0.99 - before) / std::max(1.0, below - before);
    lower = bound, before = below;
  }
  return buckets.empty() ? std::nullopt : std::optional(lower);
}

}  // namespace

void read_storage(const Sections& sections, Facts& facts) {
  read_block_devices(sections, facts);
  read_drives(sections, facts);
  for (const std::string_view line : sections.lines("/etc/fstab"))
    if (const auto words = base::words(line); words.size() > 3 && !words[0].starts_with('#'))
      facts.fstab.push_back(
          {std::string(words[0]), std::string(words[1]), std::string(words[2]), std::string(words[3])});
  if (const Section* xfs = sections.find("xfs"); xfs && xfs->status == 0)
    for (const std::string_view line : xfs->lines)
      if (const std::size_t at = line.find("ftype="); at != std::string_view::npos)
        facts.xfs_ftype = line.substr(at + 6, 1) == "1";
  facts.iscsi_initiator =
      assignments(sections.text("/etc/iscsi/initiatorname.iscsi").value_or(""))["InitiatorName"];
  for (const std::string_view line : sections.lines("/etc/multipath.conf"))
    facts.multipath_rules.emplace_back(base::trim(line));
  if (const Section* metrics = sections.find("etcd-metrics"); metrics && metrics->status == 0) {
    facts.etcd_fsync = slowest(*metrics, "etcd_disk_wal_fsync_duration_seconds_");
    facts.etcd_commit = slowest(*metrics, "etcd_disk_backend_commit_duration_seconds_");
  }
}

}  // namespace facts
