#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/text/words.hpp"
#include "facts/tree/tree.hpp"

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
      static_cast<int>(*pid), std::string(line.substr(open + 2, close - open - 2)), words[0][0], {}, {}};
  if (words.back() == "system=yes") process.system = true;
  if (words.back() == "system=no") process.system = false;
  const auto started = words.size() > 19 ? count(words[19]) : std::nullopt;
  if (started && uptime) process.age = *uptime - static_cast<double>(*started) / 100;
  return process;
}

/// "Node 0, zone   Normal  18262  16431 …"
void read_free_blocks(const Sections& sections, Kernel& kernel) {
  for (const std::string_view line : sections.lines("/proc/buddyinfo")) {
    const auto words = base::words(line);
    if (words.size() < 5 || words[0] != "Node" || words[2] != "zone") continue;
    FreeBlocks blocks{.zone = std::string(words[3])};
    blocks.node = static_cast<int>(
        std::min<std::uint64_t>(count(words[1].substr(0, words[1].find(','))).value_or(0), 1024));
    for (std::size_t i = 4; i < words.size(); ++i) blocks.orders.push_back(count(words[i]).value_or(0));
    kernel.free_blocks.push_back(std::move(blocks));
  }
}

/// "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages 512"
void read_huge_pages(const Sections& sections, Kernel& kernel) {
  for (const auto& [path, value] : sections.values("sysfs")) {
    if (!path.ends_with("/nr_hugepages")) continue;
    const std::size_t at = path.find("hugepages-");
    const auto kib = count(path.substr(at + 10, path.find("kB", at) - at - 10));
    if (const auto reserved = count(value); kib && reserved) kernel.huge_pages[*kib] = *reserved;
  }
}

}  // namespace

void read_kernel_state(const Sections& sections, Facts& facts) {
  // "0.00 0.01 0.05 1/128 25183": running and all threads.
  const std::string load = sections.first("/proc/loadavg").value_or("");
  if (const auto words = base::words(load); words.size() > 3)
    if (const auto slash = words[3].find('/'); slash != std::string_view::npos)
      facts.kernel.threads = count(words[3].substr(slash + 1));
  if (const Section* processes = sections.find("processes")) {
    facts.kernel.stuck.emplace();
    for (const std::string_view line : processes->lines)
      if (auto process = read_process(line, facts.kernel.uptime))
        facts.kernel.stuck->push_back(std::move(*process));
  }
  for (const char* folder : {"/sys/fs/pstore/", "/var/lib/systemd/pstore/"})
    if (const Section* records = sections.find(folder)) {
      auto& all =
          facts.kernel.crash_records ? *facts.kernel.crash_records : facts.kernel.crash_records.emplace();
      for (const std::string_view name : records->lines) all.push_back(folder + std::string(name));
    }
  read_free_blocks(sections, facts.kernel);
  read_huge_pages(sections, facts.kernel);
}

namespace {

Tree process(const Process& p) {
  Tree tree = Tree::map_of(
      {{"pid", p.pid}, {"name", p.name}, {"state", std::string(1, p.state)}, {"age", tree_of(p.age)}});
  if (p.system) tree.set("system", *p.system);
  return tree;
}

Tree blocks(const FreeBlocks& b) {
  Tree orders = Tree::list();
  for (const std::uint64_t count : b.orders) orders.push(count);
  return Tree::map_of({{"node", b.node}, {"zone", b.zone}, {"orders", orders}});
}

}  // namespace

Tree kernel_state_tree(const Kernel& k) {
  Tree pages = Tree::map();
  for (const auto& [kib, count] : k.huge_pages) pages.set(std::to_string(kib), count);
  return Tree::map_of({{"commandLine", tree_of(k.command_line)},
                       {"uptime", tree_of(k.uptime)},
                       {"threads", tree_of(k.threads)},
                       {"stuck", k.stuck ? list_of(*k.stuck, process) : Tree()},
                       {"freeBlocks", list_of(k.free_blocks, blocks)},
                       {"hugePages", pages},
                       {"crashRecords", list_of(k.crash_records)}});
}

}  // namespace facts
