#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/text/words.hpp"
#include "facts/tree/tree.hpp"

#include <algorithm>

namespace facts {

namespace {

/// "0-3,8" has five.
int count_cpus(std::string_view list) {
  long long total = 0;
  for (const std::string_view range : base::split(list, ',')) {
    const std::size_t dash = range.find('-');
    const auto low = count(range.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : count(range.substr(dash + 1));
    if (low && high && *high >= *low && *high < 100000) total += static_cast<long long>(*high - *low) + 1;
  }
  return static_cast<int>(std::min<long long>(total, 100000));
}

/// "192.0.2.2 STREAM node1.example.org"
void read_own_name(const Sections& sections, Machine& machine) {
  machine.fqdn = machine.hostname;
  const Section* section = sections.find("resolves");
  if (!section) return;
  machine.resolves.emplace();
  for (const std::string_view line : section->lines) {
    const auto words = base::words(line);
    if (words.size() < 2 || !base::Cidr::parse(words[0])) continue;
    if (words.size() > 2 && words[2].starts_with(machine.hostname + "."))
      machine.fqdn = std::string(words[2]);
    auto& all = *machine.resolves;
    if (std::find(all.begin(), all.end(), words[0]) == all.end()) all.emplace_back(words[0]);
  }
}

void add(std::optional<std::uint64_t>& sum, std::optional<std::uint64_t> more) {
  if (more) sum = sum.value_or(0) + *more;
}

void read_sysfs(const Sections& sections, Machine& machine) {
  for (const auto& [path, value] : sections.values("sysfs")) {
    if (path.ends_with("/scaling_governor")) machine.governor = std::string(value);
    if (!path.starts_with("/sys/devices/system/edac/")) continue;
    if (path.ends_with("/ce_count")) add(machine.ecc_corrected, count(value));
    if (path.ends_with("/ue_count")) add(machine.ecc_uncorrected, count(value));
  }
}

/// "0000:15:01.0 ACSCtl: SrcValid+ …"
void read_acs(const Sections& sections, Machine& machine) {
  const Section* acs = sections.find("acs");
  if (!acs || acs->status != 0) return;
  machine.acs_bridges.emplace();
  for (const std::string_view line : acs->lines)
    if (line.contains("SrcValid+")) machine.acs_bridges->emplace_back(line.substr(0, line.find(' ')));
}

}  // namespace

void read_machine(const Sections& sections, Facts& facts) {
  Machine& machine = facts.machine;
  machine.hostname = sections.first("/proc/sys/kernel/hostname").value_or("");
  read_own_name(sections, machine);
  machine.id = sections.first("/etc/machine-id").value_or("");
  machine.product_uuid = base::lower(sections.first("/sys/class/dmi/id/product_uuid").value_or(""));
  machine.vendor = sections.first("/sys/class/dmi/id/sys_vendor").value_or("");
  machine.product = sections.first("/sys/class/dmi/id/product_name").value_or("");
  machine.numa_nodes = sections.first("/sys/devices/system/node/online").value_or("");
  for (const std::string_view line : sections.lines("/proc/self/status")) {
    const auto words = base::words(line);
    if (words.size() > 2 && words[0] == "Uid:") facts.euid = std::string(words[2]);
    if (words.size() > 1 && words[0] == "Umask:") facts.umask = std::string(words[1]);
    if (words.size() > 1 && words[0] == "Cpus_allowed_list:") machine.cpus = count_cpus(words[1]);
  }
  for (const std::string_view line : sections.lines("/proc/meminfo")) {
    const auto words = base::words(line);
    if (words.size() > 1 && words[0] == "MemTotal:") machine.memory_kib = count(words[1]);
  }
  read_sysfs(sections, machine);
  for (const auto& [path, kind] : facts.software.paths)
    if (path.starts_with("/sys/class/iommu/")) machine.iommus.push_back(path.substr(17));
  read_acs(sections, machine);
  facts.gpuadm_installed = !sections.lines("/var/lib/gpuadm/journal/log").empty();
}

Tree machine_tree(const Facts& f) {
  return Tree::map_of({{"hostname", f.machine.hostname},
                       {"fqdn", f.machine.fqdn},
                       {"resolves", f.machine.resolves ? Tree::list_of(*f.machine.resolves) : Tree()},
                       {"machineId", f.machine.id},
                       {"productUuid", f.machine.product_uuid},
                       {"vendor", f.machine.vendor},
                       {"product", f.machine.product},
                       {"macs", Tree::list_of(f.machine.macs)},
                       {"cpus", f.machine.cpus},
                       {"memoryKib", tree_of(f.machine.memory_kib)},
                       {"virtualization", tree_of(f.os.virtualization)},
                       {"container", tree_of(f.os.container)}});
}

Tree machine_state_tree(const Machine& m) {
  return Tree::map_of({{"governor", m.governor},
                       {"eccCorrected", tree_of(m.ecc_corrected)},
                       {"eccUncorrected", tree_of(m.ecc_uncorrected)},
                       {"iommus", Tree::list_of(m.iommus)},
                       {"acsBridges", list_of(m.acs_bridges)}});
}

}  // namespace facts
