#include "checks/see.hpp"

#include <fmt/format.h>

#include <array>

namespace checks {

namespace {

void root_or_sudo(const Subject& s, Verdicts& out) {
  if (s.facts.euid.empty()) return out.unknown("the probe could not tell which user it ran as");
  if (s.facts.euid != "0")
    out.fail(Severity::blocker, "the login has no root rights", "user id " + s.facts.euid,
             "log in as root, let sudo serve this user, or give its password when gpuadm asks for it");
}

void shell_posix(const Subject& s, Verdicts& out) {
  std::vector<std::string> missing;
  for (const char* tool : {"awk", "sed", "grep", "tr", "cut", "od", "cat"})
    if (!has(s.facts.tools, tool)) missing.emplace_back(tool);
  if (s.facts.tools.empty()) return out.unknown("the probe listed no tools");
  if (!missing.empty())
    out.fail(Severity::blocker, "basic tools are missing: " + list(missing),
             "PATH of the login has no " + list(missing),
             "install the packages that have them (Debian: coreutils, mawk, sed, grep)");
  if (!s.facts.noise.empty())
    out.fail(Severity::warning, "the login prints text before a command runs", s.facts.noise,
             "print it for interactive shells only: in ~/.bashrc and /etc/profile.d, return early unless $- "
             "contains i");
}

void systemd(const Subject& s, Verdicts& out) {
  const std::string& init = s.facts.os.init;
  if (init.empty()) return out.unknown("process 1 could not be read");
  if (init != "systemd")
    out.fail(Severity::blocker, "systemd is not process 1", "process 1 is " + init,
             "use a machine that runs systemd; the kubelet and the container runtime are its services");
}

void os_supported(const Subject& s, Verdicts& out) {
  const facts::Os& os = s.facts.os;
  if (os.id.empty()) return out.unknown("/etc/os-release could not be read");
  if (os.family == facts::Family::debian) return out.pass(os.pretty);
  const bool packages = s.cluster.kubernetes.source == spec::Source::packages;
  const bool known = os.family == facts::Family::redhat;
  out.fail(packages && !known ? Severity::blocker : Severity::warning,
           known ? "gpuadm has been tried on Debian and Ubuntu only"
                 : "gpuadm cannot install packages on this system",
           os.pretty,
           known ? "go on and read what each step says, or use Debian or Ubuntu"
                 : "install Kubernetes by hand and set `kubernetes: { source: installed }`, use --bundle "
                   "DIR, or use "
                   "Debian or Ubuntu");
}

void os_immutable(const Subject& s, Verdicts& out) {
  static constexpr std::array<std::string_view, 4> immutable = {"flatcar", "talos", "bottlerocket",
                                                                "fedora-coreos"};
  const bool listed = std::ranges::find(immutable, s.facts.os.id) != immutable.end();
  if (listed || s.facts.paths.contains("/run/ostree-booted"))
    out.fail(Severity::warning, "the system is an image that packages cannot change",
             s.facts.os.pretty + (listed ? "" : ", booted by ostree"),
             "use a system with a package manager, or a bundle that fits this one");
}

void arch_supported(const Subject& s, Verdicts& out) {
  const std::string& machine = s.facts.os.architecture;
  if (machine.empty()) return out.unknown("uname -m said nothing");
  if (machine == "x86_64" || machine == "aarch64") return out.pass(machine);
  out.fail(Severity::blocker, "this processor architecture is not served", machine,
           "use an x86_64 or aarch64 machine");
}

constexpr std::array rows = std::to_array<Check>({
    {"host.ssh.root-or-sudo", "the login may become root", "every step changes the system", preflight | node,
     root_or_sudo},
    {"host.ssh.shell-posix", "the login has a quiet POSIX shell with the basic tools",
     "steps are shell programs, and text printed at login would be taken for their output", preflight | node,
     shell_posix},
    {"host.init.systemd", "systemd is process 1",
     "the kubelet and the container runtime are systemd services", preflight | node, systemd},
    {"host.os.supported", "the operating system is one that gpuadm knows",
     "packages and their names differ between systems", preflight, os_supported},
    {"host.os.immutable", "packages can be installed", "image-based systems take no packages", preflight,
     os_immutable},
    {"host.arch.supported", "the processor architecture is served",
     "Kubernetes and the NVIDIA driver exist for x86_64 and aarch64", preflight, arch_supported},
});

}  // namespace

std::span<const Check> access_checks() {
  return rows;
}

}  // namespace checks
