#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using base::Version;

void nic_present(const Subject& s, Verdicts& out) {
  std::vector<std::string> idle;
  std::size_t ours = 0;
  for (const facts::PciNic& nic : s.facts.rdma.nics) {
    if (nic.driver == "vfio-pci") continue;
    ++ours;
    if (nic.driver.empty()) idle.push_back(nic.slot);
  }
  if (!idle.empty())
    return out.fail(Severity::note, "network cards have no driver", list(idle),
                    "modprobe -a mlx5_core mlx5_ib; if it fails: dmesg | grep mlx5");
  if (ours > 0 && s.facts.rdma.devices.empty())
    return out.fail(Severity::note, "network cards with RDMA are used without it",
                    fmt::format("{} cards, no device under /sys/class/infiniband", ours),
                    "modprobe -a mlx5_ib ib_uverbs");
  if (ours == 0 && s.facts.rdma.devices.empty()) return out.skip("no NVIDIA RDMA card");
  out.pass(fmt::format("{} cards, {} RDMA devices", ours, s.facts.rdma.devices.size()));
}

void char_dev(const Subject& s, Verdicts& out) {
  if (!has_rdma(s, out)) return;
  std::vector<std::string> closed;
  for (const auto& [device, firmware] : s.facts.rdma.devices)
    if (!has(s.facts.rdma.verbs, device)) closed.push_back(device);
  const bool nodes = std::ranges::any_of(s.facts.software.paths, [](const auto& path) {
    return path.first.starts_with("/dev/infiniband/uverbs");
  });
  if (!closed.empty() || !nodes)
    return out.fail(
        Severity::warning, "programs cannot open RDMA devices",
        closed.empty() ? "no /dev/infiniband/uverbs*" : "without a device file: " + list(closed),
        "modprobe -a ib_uverbs rdma_ucm && printf 'ib_uverbs\\nrdma_ucm\\n' > /etc/modules-load.d/rdma.conf");
  if (!s.facts.software.paths.contains("/dev/infiniband/rdma_cm"))
    out.fail(Severity::note, "programs cannot look up RDMA connections by address",
             "no /dev/infiniband/rdma_cm",
             "modprobe rdma_ucm && echo rdma_ucm > /etc/modules-load.d/rdma_ucm.conf");
}

/// cloud-native-docs gpu-operator/gpu-operator-rdma.rst: DMA-BUF requires all of these.
bool can_dma_buf(const facts::Facts& facts) {
  const auto kernel = Version::parse(facts.kernel.release);
  const auto cuda = facts.nvidia.driver && facts.nvidia.driver->cuda
                        ? Version::parse(*facts.nvidia.driver->cuda)
                        : std::nullopt;
  return kernel && *kernel >= Version{5, 12, -1} && cuda && *cuda >= Version{11, 7, -1} &&
         facts.nvidia.driver->open_modules == true;
}

bool is_geforce(const std::string& model) {
  return model.contains("GeForce");
}

/// A host with RDMA, a GPU driver and a GPU with GPUDirect RDMA, which GeForce GPUs do not have
/// (docs.nvidia.com/cuda/gpudirect-rdma); skipped with the reason otherwise.
bool joins_both(const Subject& s, Verdicts& out) {
  if (!has_rdma(s, out)) return false;
  const auto models = facts::models_of(s.facts.nvidia);
  const bool geforce = !models.empty() && std::ranges::all_of(models, is_geforce);
  if (s.facts.nvidia.driver && !geforce) return true;
  out.skip(geforce ? "GeForce GPUs do not support GPUDirect RDMA" : "no NVIDIA driver is loaded");
  return false;
}

void method(const Subject& s, Verdicts& out) {
  if (!joins_both(s, out)) return;
  if (can_dma_buf(s.facts)) return out.pass("DMA-BUF");
  if (is_loaded(s.facts, "nvidia_peermem")) return out.pass("nvidia-peermem");
  out.fail(
      Severity::note, "network cards cannot access GPU memory: transfers go through main memory",
      fmt::format("kernel {}, {} modules, no nvidia_peermem", s.facts.kernel.release,
                  s.facts.nvidia.driver->open_modules == true ? "open" : "proprietary"),
      "install the open kernel modules on a kernel of 5.12 or newer (DMA-BUF), or: modprobe nvidia-peermem");
}

void peermem(const Subject& s, Verdicts& out) {
  if (!joins_both(s, out)) return;
  if (can_dma_buf(s.facts)) return out.skip("DMA-BUF replaces it");
  if (is_loaded(s.facts, "nvidia_peermem")) return;
  // The kernel loads RDMA drivers by itself; MLNX_OFED is installed in order to use RDMA.
  const std::string& ofed = s.facts.rdma.mlx5_version;
  out.fail(ofed.empty() ? Severity::note : Severity::warning, "the nvidia_peermem module is not loaded",
           ofed.empty() ? "RDMA devices and a GPU driver without DMA-BUF"
                        : fmt::format("MLNX_OFED {} and a GPU driver without DMA-BUF", ofed),
           "modprobe nvidia-peermem && echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf; on "
           "'Invalid argument', install the driver again after MLNX_OFED or DOCA");
}

void gdrcopy(const Subject& s, Verdicts& out) {
  if (!is_loaded(s.facts, "gdrdrv")) return out.skip("GDRCopy is not in use");
  if (!s.facts.software.paths.contains("/dev/gdrdrv"))
    out.fail(Severity::note, "GDRCopy's module is loaded, but its device file is missing", "no /dev/gdrdrv",
             "systemctl restart gdrcopy, or: mknod -m 666 /dev/gdrdrv c \"$(awk '/gdrdrv/{print $1}' "
             "/proc/devices)\" 0");
}

void nvidia_fs(const Subject& s, Verdicts& out) {
  if (!is_loaded(s.facts, "nvidia_fs")) return out.skip("GPUDirect Storage is not in use");
  const auto version = Version::parse(s.facts.rdma.nvidia_fs_version);
  if (!version || !s.facts.nvidia.driver) return out.unknown("the version of nvidia_fs could not be read");
  if (*version >= Version{2, 17, 5} && s.facts.nvidia.driver->open_modules == false)
    return out.fail(Severity::warning, "this nvidia_fs needs the driver's open kernel modules",
                    s.facts.rdma.nvidia_fs_version + " with proprietary modules",
                    "install the open modules (@install-driver@), or nvidia-fs before 2.17.5");
  out.pass(s.facts.rdma.nvidia_fs_version);
}

void memlock(const Subject& s, Verdicts& out) {
  if (!has_rdma(s, out)) return;
  const std::string name(spec::row_of(s.cluster.runtime.engine).unit);
  const auto unit = s.facts.software.units.find(name);
  if (unit == s.facts.software.units.end() || !unit->second.limits.contains("LimitMEMLOCK"))
    return out.unknown("LimitMEMLOCK of " + name + " could not be read");
  const std::string& limit = unit->second.limits.at("LimitMEMLOCK");
  // systemd also writes infinity as the largest number.
  if (limit != "infinity" && limit != "18446744073709551615")
    out.fail(Severity::warning, "containers cannot lock enough memory for RDMA",
             fmt::format("{}: LimitMEMLOCK={}", name, limit),
             fmt::format(
                 "mkdir -p /etc/systemd/system/{0}.d && printf '[Service]\\nLimitMEMLOCK=infinity\\n' > "
                 "/etc/systemd/system/{0}.d/memlock.conf && systemctl daemon-reload && systemctl restart {0}",
                 name));
}

void two_drivers(const Subject& s, Verdicts& out) {
  if (!s.facts.software.paths.contains("/run/mellanox/drivers/.driver-ready"))
    return out.skip("no operator installs the network driver");
  for (const auto& [name, package] : s.facts.software.packages)
    if (package.installed && (name.starts_with("mlnx-ofed-kernel") || name.starts_with("doca-ofed") ||
                              name.starts_with("doca-kernel")))
      return out.fail(Severity::warning, "the network driver is installed by the host and by an operator",
                      fmt::format("package {} and /run/mellanox/drivers", name),
                      "keep one: remove ofedDriver from the NicClusterPolicy, or the host's packages");
}

void ofed_version(const Group& group, Verdicts& out) {
  std::map<std::string, std::vector<std::string>> versions;
  for (const auto& [name, facts] : group.hosts)
    if (!facts->rdma.devices.empty())
      versions[facts->rdma.mlx5_version.empty() ? "the kernel's own" : facts->rdma.mlx5_version].push_back(
          name);
  if (versions.empty()) return out.skip("no RDMA devices");
  if (versions.size() == 1) return out.pass(versions.begin()->first);
  std::vector<std::string> parts;
  for (const auto& [version, names] : versions)
    parts.push_back(fmt::format("{} on {}", version, list(names)));
  out.fail(Severity::note, "hosts have different network drivers (mlx5)", base::join(parts, "; "),
           "install one version of MLNX_OFED or DOCA everywhere, or none");
}

constexpr std::array rdma_rows = std::to_array<Check>({
    {"rdma.nic.present", "RDMA cards are in use",
     "a card without its RDMA driver is only a network card, or unusable", "rdma pci", preflight | node,
     nic_present},
    {"rdma.nic.char-dev", "programs can open RDMA devices", "they use files under /dev/infiniband",
     "rdma pci sysfs paths", node, char_dev},
    {"rdma.gpudirect.method", "network cards can access GPU memory", "transfers through main memory are slow",
     "rdma pci /proc/modules /proc/sys/kernel/osrelease /proc/driver/nvidia/version", preflight | node,
     method},
    {"rdma.peermem.loaded", "nvidia_peermem is loaded where it is needed",
     "older drivers and kernels need it", "rdma pci /proc/modules /proc/driver/nvidia/version", node,
     peermem},
    {"rdma.gdrcopy", "GDRCopy can be used where it is loaded", "programs open its device file",
     "rdma pci /proc/modules paths", node, gdrcopy},
    {"rdma.nvidia-fs", "nvidia_fs fits the driver", "newer ones need open modules",
     "rdma pci /proc/modules sysfs", node, nvidia_fs},
    {"rdma.memlock", "containers can lock memory", "RDMA locks the memory that it transfers",
     "rdma pci units", node, memlock},
    {"rdma.mofed-driver-ready", "one network driver is in use", "two drivers overwrite each other",
     "rdma pci paths packages", node, two_drivers},
    {"rdma.ofed.version", "all hosts have the same network driver",
     "collective operations are limited by the oldest driver", "rdma pci sysfs packages", preflight | node,
     nullptr, ofed_version},
});

}  // namespace

std::span<const Check> rdma_checks() {
  return rdma_rows;
}

}  // namespace checks
