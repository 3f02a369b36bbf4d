#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <array>
#include <set>

namespace checks {

namespace {

bool installs_packages(const Subject& s) {
  return s.cluster.kubernetes.source == spec::Source::packages;
}

void apt_lock(const Subject& s, Verdicts& out) {
  if (s.facts.os.family != facts::Family::debian) return out.skip("not a Debian-like system");
  for (const facts::PackageLock& lock : s.facts.software.package_locks)
    out.fail(Severity::warning, "the package manager is busy",
             fmt::format("{} (process {}) holds {}", lock.program, lock.pid, lock.file),
             "wait until it has ended; steps that install packages wait for it, too");
}

/// Packages that an unattended upgrade must not replace under running pods.
bool must_stay(const std::string& name) {
  for (const char* start :
       {"kubelet", "kubeadm", "kubectl", "containerd", "docker.io", "docker-ce", "nvidia-driver",
        "nvidia-headless", "nvidia-fabricmanager", "libnvidia-compute", "cuda-drivers"})
    if (name.starts_with(start)) return true;
  return false;
}

void unattended_upgrades(const Subject& s, Verdicts& out) {
  if (!is_active(s.facts, "unattended-upgrades.service")) return out.skip("no unattended upgrades");
  std::vector<std::string> loose;
  for (const auto& [name, package] : s.facts.software.packages)
    if (package.installed && !package.held && must_stay(name)) loose.push_back(name);
  if (!loose.empty())
    out.fail(Severity::warning, "unattended upgrades may replace packages under running pods", list(loose),
             "@hold@ " + base::join(loose, " "));
}

/// The value of `signed-by=` in a one-line entry, or of a `Signed-By:` line.
std::string signed_by(const std::string& line) {
  for (const std::string_view key : {"signed-by=", "Signed-By:"})
    if (const std::size_t at = line.find(key); at != std::string::npos) {
      const auto rest = base::trim(std::string_view(line).substr(at + key.size()));
      return std::string(rest.substr(0, rest.find_first_of(" ]")));
    }
  return {};
}

/// What one entry of apt's lists names.
struct AptEntry {
  std::string file, key;  ///< key: of Signed-By; empty: none
  std::vector<std::string> uris, suites;
};

/// Entries in one line, and in stanzas of fields: sources.list(5). The probe reads no blank lines, so a field
/// that occurs again begins the next stanza.
std::vector<AptEntry> apt_entries(const facts::Facts& facts) {
  std::vector<AptEntry> entries;
  std::set<std::string> fields;
  const auto texts = [](std::string_view text) {
    const auto words = base::words(text);
    return std::vector<std::string>(words.begin(), words.end());
  };
  for (const facts::Repository& line : facts.software.repositories) {
    const std::string_view text = line.line;
    if (text.starts_with("deb")) {
      const std::size_t options = text.find('['), end = text.find(']');
      const bool has_options = options != std::string_view::npos && end != std::string_view::npos;
      const auto words = texts(text.substr(has_options ? end + 1 : std::min(text.find(' '), text.size())));
      if (words.size() > 1) entries.push_back({line.file, signed_by(line.line), {words[0]}, {words[1]}});
    } else if (const std::size_t colon = text.find(':');
               line.file.starts_with("/etc/apt/") && colon != std::string_view::npos) {
      const std::string field(text.substr(0, colon));
      if (entries.empty() || entries.back().file != line.file || fields.contains(field)) {
        entries.push_back({line.file, {}, {}, {}});
        fields.clear();
      }
      fields.insert(field);
      if (field == "URIs") entries.back().uris = texts(text.substr(colon + 1));
      if (field == "Suites") entries.back().suites = texts(text.substr(colon + 1));
      if (field == "Signed-By") entries.back().key = signed_by(line.line);
    }
  }
  return entries;
}

/// A URI as apt compares it: with the architecture, and a slash at the end (pkgSourceList::Type::FixupURI).
std::string apt_uri(std::string uri, const facts::Facts& facts) {
  constexpr std::string_view variable = "$(ARCH)";
  const std::string& machine = facts.os.architecture;
  if (const std::size_t at = uri.find(variable); at != std::string::npos)
    uri.replace(at, variable.size(),
                machine == "x86_64"    ? "amd64"
                : machine == "aarch64" ? "arm64"
                                       : machine);
  return uri.ends_with('/') ? uri : uri + "/";
}

bool is_of_nvidia(const std::string& uri) {
  return uri.contains("nvidia.github.io") || uri.contains("developer.download.nvidia.com");
}

/// apt compares the keys of entries with the same URI and suite (debReleaseIndex::SetSignedBy).
void signed_by_conflict(const Subject& s, Verdicts& out) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::set<std::string>>>
      files;  // by URI and suite, and by key
  for (const AptEntry& entry : apt_entries(s.facts))
    for (const std::string& uri : entry.uris)
      for (const std::string& suite : entry.suites)
        if (is_of_nvidia(uri)) files[{apt_uri(uri, s.facts), suite}][entry.key].insert(entry.file);
  for (const auto& [repository, by_key] : files) {
    if (by_key.size() < 2) continue;
    std::set<std::string> all;
    for (const auto& [key, some] : by_key) all.insert(some.begin(), some.end());
    out.fail(installs_packages(s) ? Severity::blocker : Severity::warning,
             fmt::format("{} is listed with different keys, and apt refuses all lists", repository.first),
             list({all.begin(), all.end()}),
             "keep one of the files, remove the others, then: apt-get update");
  }
}

void repo_legacy(const Subject& s, Verdicts& out) {
  std::set<std::string> files;
  for (const facts::Repository& entry : s.facts.software.repositories) {
    const std::string& line = entry.line;
    const bool legacy = line.find("apt.kubernetes.io") != std::string::npos ||
                        line.find("yum.kubernetes.io") != std::string::npos ||
                        (line.find("packages.cloud.google.com") != std::string::npos &&
                         line.find("kubernetes") != std::string::npos);
    if (legacy && !line.starts_with('#')) files.insert(entry.file);
  }
  if (!files.empty())
    out.fail(installs_packages(s) ? Severity::blocker : Severity::warning,
             "a Kubernetes package repository that was shut down in March 2024 is still listed",
             list({files.begin(), files.end()}),
             fmt::format("rm {} && apt-get update; gpuadm adds the current repository",
                         base::join(std::vector<std::string>(files.begin(), files.end()), " ")));
}

void reboot_required(const Subject& s, Verdicts& out) {
  if (s.facts.software.paths.contains("/run/reboot-required"))
    out.fail(Severity::warning, "a reboot is pending",
             "/run/reboot-required, kernel " + s.facts.kernel.release, "reboot before pods run here");
}

constexpr std::array package_rows = std::to_array<Check>({
    {"host.pkg.apt-lock", "the package manager is not busy",
     "two package managers cannot run at the same time",
     "package-locks units /etc/apt/* /etc/yum.repos.d/* packages", preflight, apt_lock},
    {"host.pkg.unattended-upgrades", "unattended upgrades do not replace packages that pods depend on",
     "a driver whose libraries are newer than its loaded module stops every GPU program",
     "package-locks units /etc/apt/* /etc/yum.repos.d/* packages", preflight | node, unattended_upgrades},
    {"host.pkg.apt-signed-by-conflict", "each NVIDIA repository is listed with one key",
     "apt refuses all lists when two of them disagree",
     "package-locks units /etc/apt/* /etc/yum.repos.d/* packages", preflight, signed_by_conflict},
    {"kubeadm.repo-legacy", "no retired package repository of Kubernetes is listed",
     "a dead list breaks every later apt-get update", "/etc/apt/* /etc/yum.repos.d/*", preflight,
     repo_legacy},
    {"host.reboot.required", "no reboot is pending",
     "modules of a newer kernel cannot be loaded before a reboot", "paths", preflight | node,
     reboot_required},
});

}  // namespace

std::span<const Check> package_checks() {
  return package_rows;
}

}  // namespace checks
