#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/text/words.hpp"
#include "facts/tree/tree.hpp"

namespace facts {

namespace {

/// `Environment=A=b "C=d e"`: words, each quoted as a whole if it contains spaces.
std::map<std::string, std::string> read_environment(std::string_view text) {
  std::map<std::string, std::string> found;
  while (!text.empty()) {
    const bool quoted = text.front() == '"';
    if (quoted) text.remove_prefix(1);
    const std::string_view word = text.substr(0, text.find(quoted ? '"' : ' '));
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos)
      found.emplace(word.substr(0, equals), word.substr(equals + 1));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  return found;
}

/// "{ path=/usr/bin/x ; argv[]=/usr/bin/x --flag ; ignore_errors=no ; … }"
std::string command_of(std::string_view text) {
  const std::size_t begin = text.find("argv[]=");
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + 7);
  return std::string(base::trim(text.substr(0, text.find(" ;"))));
}

/// `systemctl show`: blocks of Key=value lines, an empty line between units.
void read_units(const Sections& sections, Software& software) {
  std::string id;
  Unit unit;
  const auto finish = [&] {
    if (!id.empty()) software.units.emplace(std::move(id), std::move(unit));
    id.clear();
    unit = {};
  };
  for (const std::string_view line : sections.lines("units")) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      finish();
      continue;
    }
    const auto key = line.substr(0, equals);
    const auto value = line.substr(equals + 1);
    if (key == "Id") id = std::string(value);
    if (key == "LoadState") unit.load = std::string(value);
    if (key == "ActiveState") unit.active = std::string(value);
    if (key == "SubState") unit.sub = std::string(value);
    if (key == "UnitFileState") unit.enabled = std::string(value);
    if (key == "NRestarts") unit.restarts = count(value);
    if (key == "ActiveEnterTimestampMonotonic")
      if (const auto microseconds = count(value)) unit.since = static_cast<double>(*microseconds) / 1e6;
    if (key.starts_with("Limit") || key == "TasksMax" || key == "Delegate") unit.limits.emplace(key, value);
    if (key == "ExecStart") unit.command = command_of(value);
    if (key == "Environment") unit.environment.merge(proxies_of(read_environment(value)));
  }
  finish();
}

void read_unit_logs(const Sections& sections, Software& software) {
  constexpr std::string_view stem = "unit-log/";
  sections.each(stem, "", [&](const std::string& name, const Section& section) {
    const auto unit = software.units.find(name.substr(stem.size()));
    if (unit == software.units.end()) return;
    for (const std::string_view line : section.lines) unit->second.log.push_back(base::printable(line, 1000));
  });
}

void read_packages(const Sections& sections, Software& software) {
  for (const std::string_view line : sections.lines("packages")) {
    const auto words = base::words(line);
    if (words.size() != 4) continue;
    software.packages.emplace(words[0],
                              Package{std::string(words[1]), words[3] == "installed", words[2] == "hold"});
  }
  for (const std::string_view line : sections.lines("package-locks")) {
    const auto words = base::words(line);
    auto values = pairs(line);
    if (!words.empty())
      software.package_locks.push_back({std::string(words[0]), values["pid"], values["program"]});
  }
  const auto add = [&](const std::string& name, const Section& section) {
    for (const std::string_view line : section.lines)
      software.repositories.push_back({name, std::string(line)});
  };
  sections.each("/etc/apt/sources.list", "", add);
  sections.each("/etc/yum.repos.d/", "", add);
}

}  // namespace

void read_software(const Sections& sections, Facts& facts) {
  Software& software = facts.software;
  for (const std::string_view line : sections.lines("tools"))
    if (const auto words = base::words(line); words.size() > 1) {
      software.tools.emplace_back(words[0]);
      software.tool_paths.emplace(words[0], words[1]);
    }
  for (const std::string_view line : sections.lines("paths"))
    if (const auto blank = line.find(' '); blank != std::string_view::npos)
      software.paths.emplace(line.substr(blank + 1), line.substr(0, blank));
  read_units(sections, facts.software);
  read_unit_logs(sections, facts.software);
  read_packages(sections, facts.software);
}

namespace {

Tree lock(const PackageLock& l) {
  return Tree::map_of({{"file", l.file}, {"pid", l.pid}, {"program", l.program}});
}

Tree repository(const Repository& r) {
  return Tree::map_of({{"file", r.file}, {"line", r.line}});
}

}  // namespace

Tree software_tree(const Facts& f) {
  Tree units = Tree::map(), packages = Tree::map();
  for (const auto& [name, unit] : f.software.units)
    units.set(name, Tree::map_of({{"load", unit.load},
                                  {"active", unit.active},
                                  {"sub", unit.sub},
                                  {"enabled", unit.enabled},
                                  {"restarts", tree_of(unit.restarts)},
                                  {"since", tree_of(unit.since)},
                                  {"proxies", map_of(unit.environment)},
                                  {"limits", map_of(unit.limits)},
                                  {"log", Tree::list_of(unit.log)}}));
  for (const auto& [name, package] : f.software.packages)
    packages.set(
        name, Tree::map_of(
                  {{"version", package.version}, {"installed", package.installed}, {"held", package.held}}));
  return Tree::map_of({{"tools", map_of(f.software.tool_paths)},
                       {"paths", map_of(f.software.paths)},
                       {"units", units},
                       {"packages", packages},
                       {"packageLocks", list_of(f.software.package_locks, lock)},
                       {"repositories", list_of(f.software.repositories, repository)},
                       {"selinux", tree_of(f.security.selinux)},
                       {"apparmor", tree_of(f.security.apparmor)}});
}

}  // namespace facts
