#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/runtime_version.hpp"

#include "checks/last_lines.hpp"
#include "checks/queries.hpp"

#include <fmt/format.h>

#include <array>

namespace checks {

namespace {

using base::Version;
using spec::Engine;

/// The last words of a unit that has failed or is restarted, if its journal was read.
std::optional<LastLine> last_words_of(const facts::Facts& facts, const std::string& unit) {
  const auto place = facts.software.units.find(unit);
  return place == facts.software.units.end() ? std::nullopt : last_line(place->second.log, unit_lines());
}

/// Where the run installs it from, or that the run cannot install it: init fails there
/// (playbooks/runtime/install.yaml).
void absent(const Subject& s, Verdicts& out, const std::string& name) {
  const bool docker = s.cluster.runtime.engine == Engine::docker;
  const std::string seen = fmt::format("not in PATH: {}", docker ? "dockerd" : name);
  const std::string by_hand = docker ? "@install-docker@" : "@install-containerd@";
  switch (supply_of(s, s.decisions.of(s.host.name).runtime)) {
    case spec::Supply::repositories:
      return out.fail(Severity::note, name + " is not installed yet", seen,
                      docker ? "runtime.docker.install" : "runtime.containerd.install");
    case spec::Supply::bundle:
      return out.fail(Severity::note, name + " is not installed yet; the bundle contains it", seen,
                      "runtime.containerd.bundle");
    case spec::Supply::skipped:
      return out.fail(Severity::note, name + " is not installed, and this run skips its installation", seen,
                      "omit --skip-phases runtime/install, or: " + by_hand);
    case spec::Supply::open:
      return out.fail(Severity::warning, name + " is not installed, and only the bundle can install it", seen,
                      "gpuadm doctor --bundle DIR checks whether the bundle contains it");
    case spec::Supply::none:
      break;
  }
  out.fail(
      Severity::blocker, name + " is not installed, and the bundle does not contain it", seen,
      docker ? by_hand + " on the host, or set runtime.engine to containerd"
             : "create the bundle without --skip runtime (gpuadm bundle create), or on the host: " + by_hand);
}

void present(const Subject& s, Verdicts& out) {
  const spec::EngineRow& engine = spec::row_of(s.cluster.runtime.engine);
  const std::string version = facts::version_of(s.facts.runtime, engine.name);
  const std::string name(engine.unit.substr(0, engine.unit.find('.'))), unit(engine.unit);
  const bool live = s.stage == Stage::node;
  if (version.empty()) {
    if (!engine.by_hand.empty())
      return out.fail(Severity::blocker, fmt::format("{} is not installed", engine.title),
                      fmt::format("not in PATH: {}", engine.program), std::string(engine.by_hand));
    if (!live) return absent(s, out, name);
    return out.fail(Severity::blocker, name + " is not installed yet", "the program is missing",
                    "run gpuadm init");
  }
  if (is_running(s.facts, unit)) return out.pass(name + " " + version);
  const auto words = last_words_of(s.facts, unit);
  const std::string restart = "journalctl -u " + unit + ", then: systemctl restart " + unit;
  if (words)
    // A run may repair it, by a configuration or a package.
    return out.fail(live ? Severity::blocker : Severity::warning,
                    fmt::format("{} does not run: {}", name, words->message()),
                    words->evidence("journal of " + unit), words->remedy(restart));
  out.fail(live ? Severity::blocker : Severity::note, name + " does not run", unit + " is not active",
           live                     ? restart
           : engine.by_hand.empty() ? fmt::format("runtime.{}.running", engine.name)
                                    : "systemctl enable --now " + name);
}

void socket(const Subject& s, Verdicts& out) {
  if (!uses(s, Engine::containerd)) return out.not_applicable("the runtime is not containerd");
  if (!s.facts.runtime.containerd || !is_running(s.facts, "containerd.service"))
    return out.skip("containerd does not run");
  if (!s.facts.runtime.containerd->socket)
    return out.fail(
        Severity::warning, "containerd runs without its socket", "no /run/containerd/containerd.sock",
        "check the address under [grpc] in /etc/containerd/config.toml, then: systemctl restart containerd");
  const auto& config = s.facts.kubernetes.kubelet_config;
  const base::Tree* endpoint =
      s.stage == Stage::node && config ? config->find("containerRuntimeEndpoint") : nullptr;
  if (endpoint && !endpoint->text().empty() && !endpoint->text().ends_with("/run/containerd/containerd.sock"))
    out.fail(Severity::blocker, "the kubelet uses another runtime than the configured one", endpoint->text(),
             "set containerRuntimeEndpoint in /var/lib/kubelet/config.yaml, then: systemctl restart kubelet");
}

void sockets(const Subject& s, Verdicts& out) {
  const auto& found = s.facts.runtime.sockets;
  if (found.empty()) return out.skip("no runtime is installed yet");
  if (found.size() > 1)
    out.pass("several runtimes are installed; gpuadm sets the one that kubeadm uses: " + list(found));
}

/// kubelet: CRI v1alpha2 only until 1.22, both until 1.25, v1 only from 1.26. containerd: v1 from 1.6,
/// v1alpha2 until 1.7.
void v1_api(const Subject& s, Verdicts& out) {
  if (!uses(s, Engine::containerd)) return out.not_applicable("the runtime is not containerd");
  if (!s.facts.runtime.containerd || s.facts.runtime.containerd->version.empty())
    return out.skip("containerd is not installed");
  const auto& containerd = *s.facts.runtime.containerd;
  const auto version = Version::parse(containerd.version);
  if (version && kubernetes_from(s, 26) && *version < Version{1, 6, -1})
    return out.fail(Severity::blocker,
                    fmt::format("Kubernetes {} needs containerd 1.6 or newer", minor_text(s)),
                    "containerd " + containerd.version, "upgrade containerd");
  if (version && kubernetes_before(s, 23) && *version >= Version{2, 0, -1})
    return out.fail(
        Severity::blocker,
        fmt::format("Kubernetes {} needs CRI v1alpha2, which containerd 2 no longer has", minor_text(s)),
        "containerd " + containerd.version, "use containerd 1.7 or older, or Kubernetes 1.23 or newer");
  if (!containerd.cri_status)
    return out.unknown("containerd's plugins could not be read: it does not run, or ctr is missing");
  if (*containerd.cri_status == "ok") return out.pass("containerd's CRI plugin is loaded");
  const bool live = s.stage == Stage::node;
  out.fail(live ? Severity::blocker : Severity::warning, "containerd runs without its CRI plugin",
           *containerd.cri_status == "skip" ? "the plugin is not loaded"
                                            : "the plugin's state is " + *containerd.cri_status,
           live ? "journalctl -u containerd | grep -i cri" : "runtime.containerd.config");
}

void cri_dockerd(const Subject& s, Verdicts& out) {
  if (!uses(s, Engine::docker)) return out.not_applicable("the runtime is not Docker");
  if (kubernetes_before(s, 24)) return out.pass("the kubelet supports Docker directly");
  if (has(s.facts.software.tools, "cri-dockerd")) return out.pass("cri-dockerd is installed");
  if (!s.kubernetes) return out.unknown("the Kubernetes version is not known yet");
  out.fail(Severity::blocker, fmt::format("Kubernetes {} needs cri-dockerd to use Docker", minor_text(s)),
           "not in PATH: cri-dockerd",
           "set runtime.engine to containerd (Docker includes it), or install cri-dockerd");
}

void daemon_json(const Subject& s, Verdicts& out) {
  if (!uses(s, Engine::docker)) return out.not_applicable("the runtime is not Docker");
  if (!s.facts.runtime.docker) return out.skip("Docker is not installed");
  const auto& text = s.facts.runtime.docker->daemon_json;
  if (text && !base::trim(*text).empty()) {
    const auto json = base::json::read(*text, "/etc/docker/daemon.json");
    if (!json || !json->is_map())
      return out.fail(Severity::blocker, "/etc/docker/daemon.json cannot be read",
                      json ? "it is not a JSON object" : json.error().what,
                      "correct or move the file; gpuadm does not overwrite it");
  }
  const auto& driver = s.facts.runtime.docker->cgroup_driver;
  if (driver && *driver != cgroup_driver(s))
    out.fail(s.stage == Stage::node ? Severity::blocker : Severity::note,
             "Docker and the kubelet use different cgroup drivers",
             fmt::format("Docker: {}, kubelet: {}", *driver, cgroup_driver(s)), "runtime.docker.config");
}

constexpr std::array runtime_rows = std::to_array<Check>({
    {"rt.present", "the container runtime is installed and runs", "the kubelet starts pods with it",
     "paths units containerd docker crio", preflight | node, present},
    {"rt.cri.socket", "the kubelet and the runtime use the same socket",
     "the kubelet reaches the runtime through it", "paths units containerd /var/lib/kubelet/config.yaml",
     preflight | node, socket},
    {"kubeadm.crisocket-ambiguous", "the runtime for kubeadm is unambiguous",
     "kubeadm does not choose between several runtimes", "paths", preflight, sockets},
    {"rt.cri.v1-api", "the runtime supports the CRI version of this Kubernetes",
     "old kubelets and new runtimes have no version in common", "paths units containerd containerd-plugins",
     preflight | node, v1_api},
    {"rt.docker.cri-dockerd", "the kubelet can use Docker", "Kubernetes 1.24 removed its own adapter",
     "docker docker-info paths units /etc/docker/daemon.json", preflight, cri_dockerd},
    {"rt.docker.daemon-json", "Docker's configuration is valid",
     "the kubelet and Docker must use one cgroup driver",
     "docker docker-info paths units /etc/docker/daemon.json", preflight | node, daemon_json},
});

}  // namespace

std::span<const Check> runtime_checks() {
  return runtime_rows;
}

}  // namespace checks
