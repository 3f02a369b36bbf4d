#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/families.hpp"

#include "facts/read.hpp"
#include "facts/text/words.hpp"
#include "facts/tree/tree.hpp"

#include <algorithm>
#include <array>

namespace facts {

namespace {

Family family_of(const std::string& id, const std::string& like, const std::vector<std::string>& tools) {
  const std::string all = base::lower(id + " " + like);
  const auto words = base::words(all);
  const auto is_one_of = [&](std::string_view names) {
    return std::ranges::any_of(base::words(names), [&](std::string_view name) {
      return std::ranges::find(words, name) != words.end();
    });
  };
  const auto* row = std::ranges::find_if(families, [&](const FamilyRow& one) { return is_one_of(one.ids); });
  if (row != families.end()) return row->family;
  // Some exist with both kinds of packages: UOS and Kylin on desktops with Debian's, on servers with RPM.
  const auto has = [&](std::string_view tool) { return std::ranges::find(tools, tool) != tools.end(); };
  if (is_one_of("uos kylin")) {
    if (has("rpm") && (has("dnf") || has("yum"))) return Family::redhat;
    if (has("dpkg") && has("apt-get")) return Family::debian;
  }
  return Family::other;
}

/// The release of Ubuntu or Debian for a code name.
constexpr std::array<std::array<std::string_view, 3>, 9> releases = {{
    {"ubuntu", "18.04", "bionic"},
    {"ubuntu", "20.04", "focal"},
    {"ubuntu", "22.04", "jammy"},
    {"ubuntu", "24.04", "noble"},
    {"ubuntu", "26.04", "resolute"},
    {"debian", "10", "buster"},
    {"debian", "11", "bullseye"},
    {"debian", "12", "bookworm"},
    {"debian", "13", "trixie"},
}};

void read_parent(std::map<std::string, std::string>& values, Os& os) {
  os.parent_id = os.id, os.parent_version_id = os.version_id, os.parent_codename = os.codename;
  if (os.id == "ubuntu" || os.id == "debian") return;
  for (const auto& [id, version, codename] : releases)
    for (const char* key : {"UBUNTU_CODENAME", "DEBIAN_CODENAME"})
      if (values[key] == codename) {
        os.parent_id = id, os.parent_version_id = version, os.parent_codename = codename;
        return;
      }
}

std::optional<std::string> first_of(const Sections& sections, std::string_view name) {
  const auto text = sections.first(name);
  return text && !text->empty() ? text : std::nullopt;
}

}  // namespace

void read_os(const Sections& sections, Facts& facts) {
  Os& os = facts.os;
  const Section* release = sections.find("/etc/os-release");
  if (!release) release = sections.find("/usr/lib/os-release");
  if (release) {
    auto values = assignments(release->text());
    os.id = values["ID"];
    os.version_id = values["VERSION_ID"];
    os.codename = values["VERSION_CODENAME"];
    os.pretty = values["PRETTY_NAME"];
    os.family = family_of(os.id, values["ID_LIKE"], facts.software.tools);
    read_parent(values, os);
  }
  os.architecture = sections.first("machine").value_or("");
  os.init = sections.first("/proc/1/comm").value_or("");
  os.virtualization = first_of(sections, "virtualization");
  os.container = first_of(sections, "container");
  if (!os.container) os.container = first_of(sections, "/run/systemd/container");
  if (!os.container && (facts.software.paths.contains("/.dockerenv"))) os.container = "docker";
  if (!os.container && (facts.software.paths.contains("/run/.containerenv"))) os.container = "podman";
}

Tree os_tree(const Facts& f) {
  return Tree::map_of({{"id", f.os.id},
                       {"versionId", f.os.version_id},
                       {"codename", f.os.codename},
                       {"pretty", f.os.pretty},
                       {"parentId", f.os.parent_id},
                       {"parentVersionId", f.os.parent_version_id},
                       {"parentCodename", f.os.parent_codename},
                       {"family", row_of(f.os.family).name},
                       {"architecture", f.os.architecture},
                       {"init", f.os.init},
                       {"kernel", f.kernel.release},
                       {"euid", f.euid}});
}

}  // namespace facts
