#include "gpuadm/base/text.hpp"

#include "checks/last_lines.hpp"
#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

/// Services that have failed, with their last words, and programs that come from a snap.
namespace checks {

namespace {

/// Units whose failure another check judges.
constexpr std::array<std::string_view, 4> judged_elsewhere = {
    "kubelet.service", "nvidia-fabricmanager.service", "nvidia-imex.service", "nvidia-cdi-refresh.service"};

/// A service of NVIDIA's or another runtime stops some pods, others none.
Severity severity_of(const std::string& unit) {
  for (const char* begin : {"nvidia-", "nvlsm", "gpuadm-", "containerd", "docker", "crio", "cri-docker"})
    if (unit.starts_with(begin)) return Severity::warning;
  return Severity::note;
}

void failed_units(const Subject& s, Verdicts& out) {
  if (s.facts.software.units.empty()) return out.skip("systemd lists no units");
  for (const auto& [name, unit] : s.facts.software.units) {
    // rt.present judges the cluster's runtime.
    if (!is_failing(unit) || !name.ends_with(".service") ||
        name == spec::row_of(s.cluster.runtime.engine).unit ||
        std::ranges::find(judged_elsewhere, name) != judged_elsewhere.end())
      continue;
    const auto words = last_line(unit.log, unit_lines());
    out.fail(severity_of(name), words ? fmt::format("{} fails: {}", name, words->message()) : name + " fails",
             words ? words->evidence("its journal") : fmt::format("it is {} ({})", unit.active, unit.sub),
             words ? words->remedy(fmt::format("journalctl -u {} -n 50, and read the lines before it", name))
                   : fmt::format("journalctl -u {} -n 50, then: systemctl restart {}", name, name));
  }
}

/// Programs in a snap are confined: they do not read the host's configuration, and not all of its files.
void from_snap(const Subject& s, Verdicts& out) {
  const auto path = [&](const char* tool) {
    const auto place = s.facts.software.tool_paths.find(tool);
    return place != s.facts.software.tool_paths.end() && place->second.starts_with("/snap/") ? place->second
                                                                                             : std::string();
  };
  if (const std::string docker = path("docker"); !docker.empty() && !has(s.facts.software.tools, "dockerd")) {
    const bool used = uses(s, spec::Engine::docker);
    out.fail(
        used ? Severity::warning : Severity::note,
        "Docker comes from a snap: it does not read /etc/docker/daemon.json, and the kubelet cannot use it",
        docker + "; its configuration: /var/snap/docker/current/config/daemon.json",
        used ? "snap remove docker, then: @install-docker@" : "snap remove docker, if nothing needs it");
  }
  for (const char* tool : {"kubelet", "kubeadm", "containerd", "crictl"})
    if (const std::string file = path(tool); !file.empty())
      out.fail(Severity::warning, fmt::format("{} comes from a snap, which is upgraded by itself", tool),
               file, fmt::format("snap remove {}: gpuadm installs it from packages", tool));
}

constexpr std::array unit_rows = std::to_array<Check>({
    {"host.units.failed", "no service that containers or GPUs need has failed",
     "its last words say what to do", "units unit-log/*", preflight | node, failed_units},
    {"host.pkg.snap", "the programs of Kubernetes come from packages",
     "programs in a snap do not read the host's configuration", "tools", preflight | node, from_snap},
});

}  // namespace

std::span<const Check> unit_checks() {
  return unit_rows;
}

}  // namespace checks
