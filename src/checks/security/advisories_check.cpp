#include "gpuadm/base/text.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/evidence.hpp"
#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

/// Known vulnerabilities of installed components: data/advisories.csv.
namespace checks {

namespace {

using base::Version;

/// A component of a host: the sections of the probe that have its version, and the version; empty: it is not
/// installed.
struct Component {
  std::string_view name, reads;
  std::string (*version)(const facts::Facts&);
};
constexpr std::array components = {
    Component{"containerd", "containerd packages /etc/os-release",
              [](const facts::Facts& f) {
                return f.runtime.containerd ? f.runtime.containerd->version : std::string();
              }},
    Component{"runc", "runc packages /etc/os-release",
              [](const facts::Facts& f) { return f.runtime.runc.value_or(""); }},
    Component{"toolkit", "nvidia-ctk", [](const facts::Facts& f) { return f.nvidia.ctk.value_or(""); }},
    Component{
        "driver", "/proc/driver/nvidia/version /sys/module/nvidia/version",
        [](const facts::Facts& f) { return f.nvidia.driver ? f.nvidia.driver->version : std::string(); }},
    Component{"kubernetes", "kubelet",
              [](const facts::Facts& f) { return f.kubernetes.kubelet.value_or(""); }},
};

/// "CVE-2026-53488 (critical): labels of an image can run a command on the host; CVE-2026-53493 (medium)"
std::string ids_of(const std::vector<const Advisory*>& rows) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(rows.size(), most); ++i) {
    text += (i == 0 ? "" : "; ") + rows[i]->id;
    if (!rows[i]->severity.empty()) text += fmt::format(" ({})", rows[i]->severity);
    if (i == 0) text += ": " + rows[i]->summary;
  }
  return rows.size() > most ? fmt::format("{}; and {} more", text, rows.size() - most) : text;
}

/// The finding about one component.
void report_component(const Advisories& advisories, const Installed& installed, const std::string& version,
                      Verdicts& out) {
  const std::string_view title = title_of(installed.component);
  const std::string name = fmt::format("{} {}", title, version);
  if (installed.version.major < 0) return out.unknown(fmt::format("the version of {} is not known", title));
  const Exposure exposure = exposure_of(advisories, installed);
  const std::string package =
      installed.release.empty()
          ? ""
          : fmt::format("package {} of {}", installed.package_version, installed.release);
  if (!exposure.affecting.empty()) {
    const bool reaches_host = exposure.affecting.front()->reaches_host;
    return out.fail(
        reaches_host ? Severity::warning : Severity::note,
        reaches_host ? fmt::format("containers or images can act on the host through {}", title)
                     : fmt::format("{} has known vulnerabilities", title),
        fmt::format("{}: {}", package.empty() ? name : fmt::format("{}, {}", title, package),
                    ids_of(exposure.affecting)),
        !package.empty() ? fmt::format("@upgrade@ {}", installed.component)
        : exposure.fixed.empty()
            ? fmt::format("upgrade {} once a release has the fix; no fixed version is known to gpuadm", title)
            : fmt::format("upgrade {} to {} or newer", title, exposure.fixed));
  }
  if (!exposure.undecided.empty())
    out.unknown(fmt::format("whether {} {} has fixes of the distribution for {}", installed.component,
                            package, some(exposure.undecided)));
}

void of_host(const Subject& s, Verdicts& out) {
  std::vector<std::string> names;
  for (const Component& component : components) {
    std::string version = component.version(s.facts);
    if (const auto why = unread_evidence(component.reads, s.facts.unread)) {
      out.unknown(*why);
      continue;
    }
    if (version.empty()) continue;
    const Installed installed = installed_program(s.facts, std::string(component.name), version);
    if (version.starts_with('v')) version.erase(0, 1);
    report_component(s.data.advisories, installed, version, out);
    names.push_back(fmt::format("{} {}", title_of(component.name), version));
  }
  if (!out.silent()) return;
  if (names.empty()) return out.skip("none of the components is installed");
  out.pass(list(names));
}

void of_images(const Whole& w, Verdicts& out) {
  const auto* images = given(w.facts.images, out, "the images of the pods");
  if (!images) return;
  std::set<std::tuple<std::string, Version>> seen;
  for (const auto& [image, count] : *images) {
    const Installed installed = component_of(image);
    if (installed.component.empty() || !seen.emplace(installed.component, installed.version).second) continue;
    report_component(w.data.advisories, installed, installed.version.text(), out);
  }
}

constexpr std::array advisories_rows = std::to_array<Check>({
    {.id = "sec.advisories",
     .title = "no installed component has a known vulnerability",
     .why = "some let a container or an image act on the host",
     .reads = "containerd containerd-dump runc nvidia-ctk packages /etc/os-release kubelet "
              "/proc/driver/nvidia/version /sys/module/nvidia/version images",
     .stages = preflight | node | in_cluster,
     .examine = of_host,
     .whole = of_images},
});

}  // namespace

std::span<const Check> advisories_checks() {
  return advisories_rows;
}

}  // namespace checks
