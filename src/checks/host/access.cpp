#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/families.hpp"

#include "checks/evidence.hpp"
#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

void root_or_sudo(const Subject& s, Verdicts& out) {
  if (s.facts.euid.empty()) return out.unknown("the user id could not be read");
  if (s.facts.euid != "0")
    out.fail(Severity::blocker, "the login user has no root rights", "user id " + s.facts.euid,
             "log in as root, give the user sudo rights, or enter its password when gpuadm asks for it");
}

void shell_posix(const Subject& s, Verdicts& out) {
  std::vector<std::string> missing;
  for (const char* tool : {"awk", "sed", "grep", "tr", "cut", "od", "cat"})
    if (!has(s.facts.software.tools, tool)) missing.emplace_back(tool);
  if (s.facts.software.tools.empty()) return out.unknown("the probe listed no tools");
  if (!missing.empty())
    out.fail(Severity::blocker, "basic tools are missing: " + list(missing), "not in PATH: " + list(missing),
             "install the packages that have them (coreutils, mawk or gawk, sed, grep)");
  if (!s.facts.noise.empty())
    out.fail(Severity::warning, "the login shell prints text before commands run", s.facts.noise,
             "print it for interactive shells only: in ~/.bashrc and /etc/profile.d, return early unless $- "
             "contains i");
}

void plan_was_read(const Subject& s, Verdicts& out) {
  for (const auto& [section, why] : s.facts.unread)
    if (rests_on(plan_reads, section))
      out.fail(Severity::blocker, "facts that the plan depends on could not be read",
               fmt::format("{}: {}", section, why), "run the same command again");
}

void systemd(const Subject& s, Verdicts& out) {
  const std::string& init = s.facts.os.init;
  if (init.empty()) return out.unknown("process 1 could not be read");
  if (init != "systemd")
    out.fail(Severity::blocker, "systemd is not process 1", "process 1 is " + init,
             "use a machine that runs systemd: the kubelet and the container runtime are systemd services");
}

/// Systems with Debian packages on which gpuadm is untested, as text; empty for the others. Versions older
/// than the tested ones are below `from`.
struct Untested {
  std::string_view id;
  std::optional<base::Version> from;  ///< nothing: no version is tested
};
constexpr std::array untested = {Untested{"debian", base::Version{10, -1, -1}},
                                 Untested{"ubuntu", base::Version{18, 4, -1}},
                                 Untested{"kali", {}},
                                 Untested{"devuan", {}},
                                 Untested{"pureos", {}},
                                 Untested{"deepin", {}},
                                 Untested{"uos", {}},
                                 Untested{"kylin", {}}};

bool is_untested(const facts::Os& os) {
  const auto row = std::ranges::find(untested, base::lower(os.id), &Untested::id);
  if (row == untested.end()) return false;
  const auto version = base::Version::parse(os.version_id);  // testing and unstable have none
  return !row->from || (version && *version < *row->from);
}

void os_supported(const Subject& s, Verdicts& out) {
  const facts::Os& os = s.facts.os;
  if (os.id.empty()) return out.unknown("/etc/os-release could not be read");
  if (os.family == facts::Family::debian && is_untested(os))
    return out.fail(Severity::warning, "gpuadm has not been tested on this release", os.pretty,
                    "use Debian 12 or Ubuntu 22.04 or newer");
  if (os.family == facts::Family::debian) return out.pass(os.pretty);
  const bool packages = s.cluster.kubernetes.source == spec::Source::packages;
  const bool known = facts::installs_packages(os.family);
  out.fail(packages && !known ? Severity::blocker : Severity::warning,
           known ? "gpuadm has been tested only on Debian and Ubuntu"
                 : "gpuadm cannot install packages on this system",
           os.pretty,
           known ? "continue and read the output of each step, or use Debian or Ubuntu"
                 : "install Kubernetes by hand and set `kubernetes: { source: installed }`, use --bundle "
                   "DIR, or use "
                   "Debian or Ubuntu");
}

void os_immutable(const Subject& s, Verdicts& out) {
  static constexpr std::array<std::string_view, 4> immutable = {"flatcar", "talos", "bottlerocket",
                                                                "fedora-coreos"};
  const bool listed = std::ranges::find(immutable, s.facts.os.id) != immutable.end();
  if (listed || s.facts.software.paths.contains("/run/ostree-booted"))
    out.fail(Severity::warning, "the system is image-based and cannot install packages",
             s.facts.os.pretty + (listed ? "" : ", booted by ostree"),
             "use a system with a package manager, or a bundle for this one");
}

void arch_supported(const Subject& s, Verdicts& out) {
  const std::string& machine = s.facts.os.architecture;
  if (machine.empty()) return out.unknown("the processor architecture could not be read");
  if (machine == "x86_64" || machine == "aarch64") return out.pass(machine);
  out.fail(Severity::blocker, "the processor architecture is not supported", machine,
           "use an x86_64 or aarch64 machine");
}

constexpr std::array access_rows = std::to_array<Check>({
    {"host.ssh.root-or-sudo", "the login user can become root", "every step changes the system",
     "/proc/self/status tools", preflight | node, root_or_sudo},
    {"host.ssh.shell-posix", "the login shell is a quiet POSIX shell with the basic tools",
     "steps are shell programs, and text printed at login is mistaken for their output",
     "/proc/self/status tools", preflight | node, shell_posix},
    {"host.probe.complete", "all facts that a plan depends on were read",
     "steps are selected by the host's facts, and unread facts must not count as missing", plan_reads,
     preflight, plan_was_read},
    {"host.init.systemd", "systemd is process 1",
     "the kubelet and the container runtime are systemd services", "/proc/1/comm", preflight | node, systemd},
    {"host.os.immutable", "packages can be installed", "image-based systems cannot install packages",
     "/etc/os-release /usr/lib/os-release paths tools", preflight, os_immutable},
    {"host.arch.supported", "the processor architecture is supported",
     "Kubernetes and the NVIDIA driver exist for x86_64 and aarch64", "machine", preflight, arch_supported},
});

/// After the faults of the report: it stops nothing.
constexpr std::array support_rows = std::to_array<Check>({
    {"host.os.supported", "the operating system is supported",
     "packages and their names differ between systems", "/etc/os-release /usr/lib/os-release paths tools",
     preflight, os_supported},
});

}  // namespace

std::span<const Check> support_checks() {
  return support_rows;
}

std::span<const Check> access_checks() {
  return access_rows;
}

}  // namespace checks
