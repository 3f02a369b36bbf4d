#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/text/words.hpp"
#include "facts/tree/tree.hpp"

#include <algorithm>

namespace facts {

namespace {

/// "kernel/net/bridge/br_netfilter.ko.xz: …" is br_netfilter; dashes and underscores in names are equivalent.
std::string module_of(std::string_view path) {
  path = path.substr(0, path.find(':'));
  path = path.substr(path.rfind('/') + 1);
  path = path.substr(0, path.find(".ko"));
  return base::replace_all(std::string(path), "-", "_");
}

void add(std::vector<std::string>& names, std::string name) {
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
    names.push_back(std::move(name));
}

void read_modules(const Sections& sections, Facts& facts) {
  for (const std::string_view line : sections.lines("/proc/modules"))
    if (const auto words = base::words(line); !words.empty()) facts.kernel.modules.emplace_back(words[0]);
  std::sort(facts.kernel.modules.begin(), facts.kernel.modules.end());
  sections.each("/lib/modules/", "/modules.builtin", [&](const std::string&, const Section& section) {
    for (const std::string_view line : section.lines) add(facts.kernel.modules_builtin, module_of(line));
  });
  // Kernels without loadable modules have no modules.builtin, but sysfs shows their components.
  for (const std::string_view line : sections.lines("/sys/module/"))
    if (!std::binary_search(facts.kernel.modules.begin(), facts.kernel.modules.end(), line))
      add(facts.kernel.modules_builtin, std::string(line));
  if (!sections.lines("/proc/filesystems").empty() &&
      !std::binary_search(facts.kernel.modules.begin(), facts.kernel.modules.end(), "overlay"))
    add(facts.kernel.modules_builtin, "overlay");
  if (facts.software.paths.contains("/proc/sys/net/bridge") &&
      !std::binary_search(facts.kernel.modules.begin(), facts.kernel.modules.end(), "br_netfilter"))
    add(facts.kernel.modules_builtin, "br_netfilter");
  sections.each("/lib/modules/", "/modules.dep", [&](const std::string&, const Section& section) {
    for (const std::string_view line : section.lines) add(facts.kernel.modules_loadable, module_of(line));
  });
}

/// "Linux version 6.8.0-45-generic (buildd@…) (x86_64-linux-gnu-gcc-13 (Ubuntu 13.2.0-23) 13.2.0, GNU ld …"
std::string read_compiler(const Sections& sections) {
  const std::string built = sections.first("/proc/version").value_or("");
  const std::size_t gcc = built.find("gcc"), comma = built.find(", GNU ld");
  if (comma == std::string::npos || gcc > comma) return {};
  return std::string(base::words(std::string_view(built).substr(0, comma)).back());
}

void read_config(const std::string&, const Section& section, Kernel& kernel) {
  auto& config = kernel.config ? *kernel.config : kernel.config.emplace();
  for (const std::string_view line : section.lines)
    if (const std::size_t equals = line.find('=');
        line.starts_with("CONFIG_") && equals != std::string_view::npos)
      config.emplace(line.substr(7, equals - 7), line.substr(equals + 1));
}

void read_cgroups(const Sections& sections, Facts& facts) {
  if (facts.software.paths.contains("/sys/fs/cgroup/cgroup.controllers")) {
    facts.kernel.cgroup = CgroupVersion::v2;
    for (const std::string_view line : sections.lines("/sys/fs/cgroup/cgroup.controllers"))
      for (const std::string_view word : base::words(line)) facts.kernel.controllers.emplace_back(word);
    return;
  }
  if (!sections.find("/proc/cgroups")) return;
  facts.kernel.cgroup =
      facts.software.paths.contains("/sys/fs/cgroup/unified") ? CgroupVersion::hybrid : CgroupVersion::v1;
  // A v1 controller counts if it is enabled and mounted: hierarchy 0 means that it is not.
  for (const std::string_view line : sections.lines("/proc/cgroups"))
    if (const auto words = base::words(line); words.size() == 4 && words[1] != "0" && words[3] == "1")
      facts.kernel.controllers.emplace_back(words[0]);
}

void read_swap(const Sections& sections, Kernel& kernel) {
  if (const Section* swaps = sections.find("/proc/swaps")) {
    kernel.swap.emplace();
    for (const std::string_view line : swaps->lines) {
      const auto words = base::words(line);
      if (words.size() < 3 || words[0] == "Filename") continue;
      kernel.swap->push_back({std::string(words[0]), std::string(words[1]), count(words[2]).value_or(0)});
    }
  }
  for (const std::string_view line : sections.lines("/etc/fstab")) {
    const auto words = base::words(line);
    if (words.size() > 2 && !words[0].starts_with('#') && words[2] == "swap")
      kernel.swap_fstab.emplace_back(line);
  }
  // The file in /etc replaces the other one; without a section of a device there is no swap.
  for (const char* path : {"/etc/systemd/zram-generator.conf", "/usr/lib/systemd/zram-generator.conf"}) {
    if (!sections.find(path)) continue;
    kernel.zram_generator = std::ranges::any_of(
        sections.lines(path), [](const std::string_view line) { return line.starts_with("[zram"); });
    break;
  }
}

}  // namespace

void read_kernel(const Sections& sections, Facts& facts) {
  facts.kernel.release = sections.first("/proc/sys/kernel/osrelease").value_or("");
  facts.kernel.compiler = read_compiler(sections);
  facts.kernel.command_line = sections.first("/proc/cmdline");
  if (const auto uptime = sections.first("/proc/uptime"))
    facts.kernel.uptime = base::to_real(uptime->substr(0, uptime->find(' ')));
  read_modules(sections, facts);
  const auto config = [&](const std::string& name, const Section& section) {
    read_config(name, section, facts.kernel);
  };
  sections.each("/boot/config-", "", config);
  sections.each("/proc/config.gz", "", config);
  read_cgroups(sections, facts);
  read_swap(sections, facts.kernel);
  for (const std::string_view line : sections.lines("sysctl"))
    if (const auto blank = line.find(' '); blank != std::string_view::npos)
      facts.kernel.sysctls.emplace(line.substr(0, blank), base::trim(line.substr(blank)));
}

namespace {

std::string_view name_of(CgroupVersion version) {
  switch (version) {
    case CgroupVersion::v1:
      return "v1";
    case CgroupVersion::hybrid:
      return "hybrid";
    case CgroupVersion::v2:
      break;
  }
  return "v2";
}

Tree log_line(const LogLine& l) {
  return Tree::map_of({{"seconds", l.seconds}, {"text", l.text}});
}

}  // namespace

Tree kernel_tree(const Facts& f) {
  Tree areas = f.kernel.swap ? Tree::list() : Tree();
  if (f.kernel.swap)
    for (const SwapArea& area : *f.kernel.swap)
      areas.push(Tree::map_of({{"path", area.path}, {"type", area.type}, {"kib", area.kib}}));
  return Tree::map_of({{"cgroup", name_of(f.kernel.cgroup)},
                       {"controllers", Tree::list_of(f.kernel.controllers)},
                       {"swap", areas},
                       {"swapFstab", Tree::list_of(f.kernel.swap_fstab)},
                       {"zramGenerator", f.kernel.zram_generator},
                       {"modules", Tree::list_of(f.kernel.modules)},
                       {"modulesBuiltin", Tree::list_of(f.kernel.modules_builtin)},
                       {"modulesLoadable", Tree::list_of(f.kernel.modules_loadable)},
                       {"config", f.kernel.config ? map_of(*f.kernel.config) : Tree()},
                       {"sysctls", map_of(f.kernel.sysctls)},
                       {"uptime", tree_of(f.kernel.uptime)},
                       {"numaNodes", f.machine.numa_nodes},
                       {"log", f.kernel.log ? list_of(*f.kernel.log, log_line) : Tree()}});
}

}  // namespace facts
