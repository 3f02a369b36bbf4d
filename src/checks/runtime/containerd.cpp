#include "gpuadm/base/text.hpp"
#include "gpuadm/base/toml.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <array>

namespace checks {

namespace {

using base::Version;

void disabled_cri(const Subject& s, Verdicts& out) {
  const auto* containerd = containerd_of(s, out);
  if (!containerd) return;
  if (!containerd->cri_disabled) return out.unknown("containerd's configuration could not be read");
  if (*containerd->cri_disabled)
    out.fail(s.stage == Stage::node ? Severity::blocker : Severity::warning,
             "containerd's CRI is disabled, as in Docker's packages",
             "disabled_plugins in /etc/containerd/config.toml",
             s.stage == Stage::node
                 ? "remove \"cri\" from disabled_plugins, then: systemctl restart containerd"
                 : "runtime.containerd.config");
}

void config_parses(const Subject& s, Verdicts& out) {
  const auto* containerd = containerd_of(s, out);
  if (!containerd) return;
  if (containerd->config) {
    const auto config = base::toml::read(*containerd->config, "/etc/containerd/config.toml");
    if (!config)
      return out.fail(Severity::blocker, "/etc/containerd/config.toml cannot be read", config.error().what,
                      "correct or move the file; gpuadm does not overwrite a file that it cannot read");
  }
  if (containerd->dump_stopped) return out.unknown("`containerd config dump` did not end within 5 s");
  if (!containerd->error.empty())
    out.fail(Severity::blocker, "containerd rejects its configuration", containerd->error,
             "correct /etc/containerd/config.toml until `containerd config dump` succeeds");
}

/// containerd RELEASES.md, "Daemon Configuration".
int newest_config(const Version& containerd) {
  if (containerd >= Version{2, 3, -1}) return 4;
  if (containerd >= Version{2, 0, -1}) return 3;
  return 2;
}

void config_version(const Subject& s, Verdicts& out) {
  const auto* containerd = containerd_of(s, out);
  if (!containerd) return;
  if (!containerd->config) return out.pass("no file: containerd's defaults apply");
  const int version = containerd->config_version.value_or(1);
  if (const auto own = Version::parse(containerd->version); own && version > newest_config(*own))
    out.fail(Severity::blocker, "containerd is too old for its configuration",
             fmt::format("version = {} in the file, containerd {} reads up to {}", version,
                         containerd->version, newest_config(*own)),
             "upgrade containerd, or write the file for this version (containerd config default)");
  for (const auto& [file, text] : containerd->drop_in_texts) {
    const auto tree = base::toml::read(text, file);
    const base::Tree* written = tree ? tree->find("version") : nullptr;
    const auto other = written ? written->as_int() : std::nullopt;
    if (other && *other > version)
      out.fail(Severity::blocker,
               "a drop-in has a newer version than the main file: containerd does not start",
               fmt::format("{} has version = {}, /etc/containerd/config.toml has {}", file, *other, version),
               fmt::format("set version = {} in {} and its plugin names accordingly", version, file));
  }
}

void version_supported(const Subject& s, Verdicts& out) {
  const auto* containerd = containerd_of(s, out);
  if (!containerd) return;
  const auto version = Version::parse(containerd->version);
  if (!version || !s.kubernetes)
    return out.unknown("the version of containerd or of Kubernetes is not known");
  // Of a version without a row, those of the version before.
  const std::vector<Version>* recommended = nullptr;
  for (const auto& [minor, row] : s.data.minors)
    if (!row.containerd.empty() && s.kubernetes->minor >= minor.minor) recommended = &row.containerd;
  if (!recommended) return out.pass("containerd " + containerd->version);
  bool fits = *version >= recommended->back();
  std::string lines;
  for (const Version& least : *recommended) {
    fits = fits || (version->major == least.major && version->minor == least.minor && *version >= least);
    lines += (lines.empty() ? "" : ", ") + least.text();
  }
  if (!fits)
    return out.fail(
        Severity::warning,
        fmt::format("containerd is older than the versions tested with Kubernetes {}", minor_text(s)),
        fmt::format("containerd {}; recommended from {}", containerd->version, lines), "upgrade containerd");
  out.pass("containerd " + containerd->version);
}

void systemd_cgroup(const Subject& s, Verdicts& out) {
  const auto* containerd = containerd_of(s, out);
  if (!containerd) return;
  if (containerd->cri_disabled.value_or(false)) return out.skip("the CRI is disabled");
  if (containerd->runtimes.empty()) return out.unknown("containerd's runtimes could not be read");
  const bool wanted = cgroup_driver(s) == "systemd";
  std::vector<std::string> others;
  for (const auto& [name, systemd] : containerd->runtimes)
    if (systemd != wanted) others.push_back(name);
  if (others.empty())
    return out.pass("all runtimes use the " + cgroup_driver(s) + " driver, like the kubelet");
  out.fail(
      s.stage == Stage::node ? Severity::blocker : Severity::note,
      "containerd and the kubelet use different cgroup drivers",
      fmt::format("SystemdCgroup = {} for {}; the kubelet uses {}", !wanted, list(others), cgroup_driver(s)),
      s.stage == Stage::node
          ? "set SystemdCgroup in /etc/containerd/config.toml; drain, then restart containerd and kubelet"
          : "runtime.containerd.config");
}

void sandbox_image(const Subject& s, Verdicts& out) {
  const auto* containerd = containerd_of(s, out);
  if (!containerd) return;
  if (!containerd->sandbox_image) return out.skip("containerd sets no sandbox image");
  const std::string& image = *containerd->sandbox_image;
  std::string wanted;
  if (s.kubernetes) wanted = facts::listed_image(s.facts.kubernetes, "pause", *s.kubernetes);
  const bool listed = !wanted.empty();
  if (s.kubernetes && !listed)
    for (const auto& [minor, name] : s.data.pause_images)
      if (*s.kubernetes >= minor) wanted = name;
  const auto tag = [](const std::string& name) { return name.substr(name.rfind('/') + 1); };
  if (wanted.empty() || tag(image) == tag(wanted)) return out.pass(image);
  out.fail(s.stage == Stage::node ? Severity::warning : Severity::note,
           fmt::format("containerd and kubeadm {} use different sandbox images", kubernetes_text(s)),
           fmt::format("{}, kubeadm {} {}", image, listed ? "lists" : "defaults to", wanted),
           "runtime.containerd.config");
}

constexpr std::array containerd_rows = std::to_array<Check>({
    {"rt.containerd.disabled-cri", "containerd's CRI is enabled",
     "Docker's packages disable it, and the kubelet needs it",
     "containerd containerd-dump /etc/containerd/config.toml containerd-imports "
     "containerd-plugins",
     preflight | node, disabled_cri},
    {"rt.containerd.config-parses", "containerd can read its configuration", "it does not start otherwise",
     "containerd containerd-dump /etc/containerd/config.toml containerd-imports", preflight | node,
     config_parses},
    {"rt.containerd.config-version",
     "the configuration's version is supported by containerd and its drop-ins",
     "a drop-in of a newer version keeps containerd from starting",
     "containerd containerd-dump /etc/containerd/config.toml containerd-imports /etc/containerd/*",
     preflight | node, config_version},
    {"rt.containerd.version-supported", "containerd is tested with this Kubernetes",
     "older combinations have known bugs",
     "containerd containerd-dump /etc/containerd/config.toml containerd-imports", preflight,
     version_supported},
    {"rt.containerd.systemd-cgroup", "containerd and the kubelet use one cgroup driver",
     "pods fail under load when two managers share the cgroup tree",
     "containerd containerd-dump /etc/containerd/config.toml containerd-imports /proc/1/comm "
     "/var/lib/kubelet/config.yaml",
     preflight | node, systemd_cgroup},
    {"rt.containerd.sandbox-image", "containerd uses kubeadm's sandbox image",
     "a different image must be pulled, which fails without a network",
     "containerd containerd-dump /etc/containerd/config.toml containerd-imports", preflight | node,
     sandbox_image},
});

}  // namespace

std::span<const Check> containerd_checks() {
  return containerd_rows;
}

}  // namespace checks
