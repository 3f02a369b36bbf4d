#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/time_services.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

/// kubeadm cmd/kubeadm/app/constants: ControlPlaneNumCPU 2, ControlPlaneMem 1700 MB.
constexpr int least_cpus = 2;
constexpr std::uint64_t least_memory_kib = 1700ull * 1000 * 1000 / 1024;

void cpu_count(const Subject& s, Verdicts& out) {
  if (s.facts.machine.cpus <= 0) return out.unknown("the number of CPUs could not be read");
  if (is_control_plane(s) && s.facts.machine.cpus < least_cpus)
    return out.fail(Severity::blocker, fmt::format("the control plane has fewer than {} CPUs", least_cpus),
                    fmt::format("{} CPU", s.facts.machine.cpus), "add a CPU, or make the host a worker");
  out.pass(fmt::format("{} CPUs", s.facts.machine.cpus));
}

void mem_size(const Subject& s, Verdicts& out) {
  if (!s.facts.machine.memory_kib) return out.unknown("/proc/meminfo could not be read");
  const std::uint64_t kib = *s.facts.machine.memory_kib;
  if (is_control_plane(s) && kib < least_memory_kib)
    return out.fail(Severity::blocker, "the control plane has less than 1700 MB of memory",
                    fmt::format("{} MB", kib * 1024 / 1000 / 1000), "add memory, or make the host a worker");
  std::uint64_t gpus_mib = 0;
  for (const facts::Gpu& gpu : s.facts.nvidia.gpus) gpus_mib += gpu.memory_mib.value_or(0);
  if (gpus_mib * 1024 > kib)
    return out.fail(Severity::note, "the GPUs have more memory than the machine",
                    fmt::format("{} MiB on the GPUs, {} MiB of main memory", gpus_mib, kib / 1024),
                    "add memory, or load models in parts: pinned buffers need main memory");
  out.pass(base::human_bytes(kib * 1024));
}

void hostname_valid(const Subject& s, Verdicts& out) {
  const std::string& name = s.facts.machine.hostname;
  if (name.empty()) return out.unknown("the host name could not be read");
  const std::string low = base::lower(name);
  const auto labels = base::split(low, '.');
  const bool fits = base::is_dns_name(low) &&
                    std::ranges::all_of(labels, [](std::string_view label) { return label.size() <= 63; });
  if (!fits || low == "localhost" || low.starts_with("localhost."))
    return out.fail(Severity::blocker, "the host name cannot be a node name", name,
                    "hostnamectl set-hostname NAME, with lower-case letters, digits and dashes");
  if (low != name)
    return out.fail(Severity::note, "the node name will be the host name in lower case",
                    name + " becomes " + low, "to change it: hostnamectl set-hostname " + low);
  out.pass(name);
}

void hostname_resolves(const Subject& s, Verdicts& out) {
  if (!s.facts.machine.resolves) return out.unknown("getent is not on this host");
  const auto& addresses = *s.facts.machine.resolves;
  const std::string remedy =
      fmt::format("add it to DNS, or to /etc/hosts: {} {}",
                  s.facts.network.default_address.empty() ? "ADDRESS" : s.facts.network.default_address,
                  s.facts.machine.hostname);
  if (addresses.empty())
    return out.fail(Severity::warning, "the host name does not resolve",
                    s.facts.machine.hostname + " has no address", remedy);
  const bool loopback = std::ranges::all_of(
      addresses, [](const std::string& address) { return address.starts_with("127.") || address == "::1"; });
  if (loopback)
    out.fail(Severity::note, "the host name resolves to a loopback address",
             s.facts.machine.hostname + " is " + list(addresses), remedy);
}

void time_synced(const Subject& s, Verdicts& out) {
  if (s.facts.os.container.value_or("none") != "none")
    return out.skip("the machine that runs this container keeps the time");
  if (!s.facts.clock.synchronized) {
    for (const char* unit : facts::time_services)
      if (is_active(s.facts, unit)) return out.pass(fmt::format("{} runs", unit));
    return out.unknown("the state of the time service could not be read");
  }
  if (!*s.facts.clock.synchronized)
    out.fail(Severity::warning, "the clock is not synchronized", "the time service has no server yet",
             "systemctl enable --now systemd-timesyncd (or chrony), and allow outgoing UDP 123");
}

void virt_type(const Subject& s, Verdicts& out) {
  const std::string machine =
      s.facts.machine.vendor + (s.facts.machine.product.empty() ? "" : " " + s.facts.machine.product);
  const std::string type = s.facts.os.virtualization.value_or("");
  if (type.empty()) return out.unknown("systemd-detect-virt is not on this host");
  out.pass(type == "none" ? "bare metal" + (machine.empty() ? "" : ": " + machine) : type);
}

void virt_container(const Subject& s, Verdicts& out) {
  if (!s.facts.os.container) return out.unknown("systemd-detect-virt is not on this host");
  if (*s.facts.os.container == "none") return;
  out.fail(Severity::note, "the host is a container", *s.facts.os.container,
           "use a machine or a virtual machine; in a container, the kernel's modules, parameters and devices "
           "belong to the machine that runs it");
}

constexpr std::array host_rows = std::to_array<Check>({
    {"host.cpu.count", "there are enough CPUs", "kubeadm refuses a control plane with one CPU",
     "/proc/self/status", preflight | node, cpu_count},
    {"host.mem.size", "there is enough memory", "kubeadm refuses a control plane with less than 1700 MB",
     "/proc/meminfo nvidia-smi nvidia-smi-xml", preflight | node, mem_size},
    {"host.hostname.valid", "the host name can be a node name", "Kubernetes names nodes as DNS does",
     "/proc/sys/kernel/hostname", preflight, hostname_valid},
    {"host.hostname.resolves", "the host name resolves to an address that others can use",
     "the API server and kubeadm look up the host name", "/proc/sys/kernel/hostname resolves", preflight,
     hostname_resolves},
    {"host.time.synced", "the clock is synchronized", "certificates and etcd depend on the time",
     "chrony units paths", preflight | node, time_synced},
    {"host.virt.type", "the type of machine is known", "some rules differ in virtual machines",
     "virtualization container", preflight | node, virt_type},
    {"host.virt.container", "the host is not a container", "kubeadm expects a whole machine",
     "virtualization container", preflight, virt_container},
});

}  // namespace

std::span<const Check> host_checks() {
  return host_rows;
}

}  // namespace checks
