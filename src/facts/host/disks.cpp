#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/text/words.hpp"

namespace facts {

void read_disks(const Sections& sections, Facts& facts) {
  for (const std::string_view line : sections.lines("paths"))
    if (const auto space = line.find(' '); space != std::string_view::npos)
      facts.paths.emplace(line.substr(space + 1), line.substr(0, space));

  for (const std::string_view line : sections.lines("disks")) {
    const auto words = base::words(line);
    if (words.empty()) continue;
    auto values = pairs(line);
    const std::uint64_t block = count(values["block"]).value_or(0);
    const auto kib = [&](const std::string& blocks) {
      // In 1024ths first, so that block counts of large arrays times block size stay below 2^64.
      return count(blocks).value_or(0) / 1024 * block + count(blocks).value_or(0) % 1024 * block / 1024;
    };
    Disk disk{.path = std::string(words[0]), .type = values["type"]};
    disk.total_kib = kib(values["blocks"]);
    disk.free_kib = kib(values["free"]);
    disk.inodes = count(values["inodes"]).value_or(0);
    disk.inodes_free = count(values["inodes_free"]).value_or(0);
    if (disk.total_kib > 0) facts.disk_free_kib[disk.path] = disk.free_kib;
    facts.disks.push_back(std::move(disk));
  }

  for (const std::string_view line : sections.lines("/proc/mounts")) {
    const auto words = base::words(line);
    if (words.size() < 4) continue;
    Mount mount{std::string(words[0]), std::string(words[1]), std::string(words[2]), {}};
    for (const std::string_view option : base::split(words[3], ',')) mount.options.emplace_back(option);
    facts.mounts.push_back(std::move(mount));
  }
}

}  // namespace facts
