#include "gpuadm/base/text.hpp"

#include "checks/gpu/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace checks {

namespace {

using facts::Gpu;

void smi_latency(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  if (!s.facts.nvidia.smi_seconds) return out.unknown("the time could not be measured");
  if (*s.facts.nvidia.smi_seconds > 5)
    out.fail(Severity::warning, "nvidia-smi is slow",
             fmt::format("{:.1f} s for nvidia-smi -L", *s.facts.nvidia.smi_seconds),
             "systemctl enable --now nvidia-persistenced; if it already runs, look for a failing GPU: dmesg "
             "| grep NVRM");
  else
    out.pass(fmt::format("{:.1f} s", *s.facts.nvidia.smi_seconds));
}

/// The numbers of the character devices 195:N of a host's /dev/nvidia*.
void dev_char(const Subject& s, Verdicts& out) {
  if (s.facts.nvidia.device_nodes.empty()) return out.skip("the driver has no device files");
  if (!s.facts.nvidia.dev_char) return out.unknown("/dev/char could not be read");
  std::vector<std::string> missing;
  for (const std::string& node : s.facts.nvidia.device_nodes) {
    std::string_view name = node;
    name.remove_prefix(11);  // "/dev/nvidia"
    const auto index = base::to_int(name);
    const std::string number = name == "ctl"        ? "255"
                               : name == "-modeset" ? "254"
                               : index              ? std::string(name)
                                                    : "";
    if (!number.empty() && !has(*s.facts.nvidia.dev_char, "/dev/char/195:" + number))
      missing.push_back("195:" + number);
  }
  if (!missing.empty())
    out.fail(Severity::warning,
             "containers may lose their GPU when systemd reloads: 'Failed to initialize NVML: Unknown Error'",
             "no /dev/char/" + list(missing), "nvidia-ctk system create-dev-char-symlinks --create-all");
}

void graphics(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    std::set<std::string> names;
    for (const facts::GpuProcess& process : gpu.processes)
      if (process.type == "G") names.insert(process.name);
    if (!names.empty())
      out.fail(Severity::note, fmt::format("a desktop uses {}", name_of(gpu)),
               list({names.begin(), names.end()}), "systemctl set-default multi-user.target, then reboot");
  }
}

void quarantine(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (s.facts.nvidia.quarantine.empty()) return out.pass("no GPU is in quarantine");
  for (const facts::QuarantinedGpu& entry : s.facts.nvidia.quarantine) {
    const std::string who = ignores_quarantine(s, entry);
    const auto gpu = std::ranges::find(s.facts.nvidia.gpus, entry.uuid, &Gpu::uuid);
    const std::string name = gpu == s.facts.nvidia.gpus.end() ? entry.uuid : name_of(*gpu);
    if (!who.empty())
      out.fail(Severity::warning, fmt::format("pods may get {}, which is in quarantine", name),
               fmt::format("{} offers all GPUs; {}", who, since_text(entry)),
               "kubectl cordon the node, or gpuadm gpu release " + s.host.name + " " + entry.uuid);
    else
      out.fail(
          Severity::note, fmt::format("{} is in quarantine: pods do not get it", name), since_text(entry),
          fmt::format("once it is repaired or replaced: gpuadm gpu release {} {}", s.host.name, entry.uuid));
  }
}

/// The first driver that supports MIG on a GPU, by a word of its name: NVIDIA's MIG user guide.
struct First {
  std::string_view name;
  const char* driver;
};
constexpr std::array firsts = {First{"A100", "450.80.02"},
                               First{"A30", "460.73.01"},
                               First{"H100", "525.85.12"},
                               First{"H20", "535.161.07"},
                               First{"H200", "550.90.07"},
                               First{"B200", "570.133.20"},
                               First{"B300", "580.82.07"},
                               First{"PRO 6000 Blackwell", "575.51.03"},
                               First{"PRO 5000 Blackwell", "575.57.08"},
                               First{"PRO 4500 Blackwell", "575.64"}};

/// Whether `part` occurs in `name` as whole words: "H20" is not in "H200".
bool names(std::string_view name, std::string_view part) {
  const std::size_t at = name.find(part), end = at + part.size();
  return at != std::string_view::npos && (at == 0 || name[at - 1] == ' ') &&
         (end == name.size() || name[end] == ' ' || name[end] == '-');
}

void mig_supported(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  const std::string version =
      s.facts.nvidia.driver ? s.facts.nvidia.driver->version : s.facts.nvidia.driver_installed.value_or("");
  const auto driver = base::Version::parse(version);
  if (!driver) return out.skip("no NVIDIA driver is installed");
  bool able = false;
  std::set<std::string> seen;
  for (const facts::PciGpu& gpu : s.facts.nvidia.pci_gpus) {
    const GpuModel* model = s.data.find_gpu(gpu.device_id, gpu.subsystem);
    if (!model || !seen.insert(model->name).second) continue;
    for (const First& first : firsts) {
      if (!names(model->name, first.name)) continue;
      able = true;
      if (*driver < *base::Version::parse(first.driver))
        out.fail(Severity::note, fmt::format("this driver does not support MIG on {}", model->name),
                 fmt::format("driver {}, supported from {} on", version, first.driver),
                 "upgrade the driver before using MIG");
    }
  }
  if (!able) out.skip("the GPUs do not support MIG");
}

void mig_instances(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  bool any = false;
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    if (gpu.mig != "Enabled") continue;
    any = true;
    if (gpu.mig_devices == 0)
      out.fail(Severity::warning,
               fmt::format("{} has MIG enabled but no instances: it cannot be used", name_of(gpu)),
               "no MIG devices",
               fmt::format("nvidia-mig-parted apply, or nvidia-smi -i {0} -mig 0 after draining the node",
                           gpu.index));
  }
  if (!any) out.skip("MIG is off");
}

void vgpu_guest(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  bool any = false;
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    if (word(gpu, "gpu_virtualization_mode/virtualization_mode") != "VGPU") continue;
    any = true;
    const auto license = word(gpu, "vgpu_software_licensed_product/license_status");
    if (license && license->starts_with("Unlicensed"))
      out.fail(Severity::warning,
               fmt::format("{} is a virtual GPU without a license: it is slowed down", name_of(gpu)),
               "license status " + *license,
               "put the license server's token into /etc/nvidia/ClientConfigToken, then: systemctl restart "
               "nvidia-gridd");
  }
  if (!any) return out.skip("the host has no virtual GPU");
  for (const facts::Xid& xid : s.facts.nvidia.xids)
    if (xid.code == 78)
      return out.fail(Severity::warning, "the guest's driver is incompatible with the host's vGPU manager",
                      xid.text, "install the guest driver of the vGPU release that the hypervisor runs");
}

/// A GPU in confidential mode has protected memory.
void confidential(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  std::size_t with = 0, known = 0;
  for (const Gpu& gpu : s.facts.nvidia.gpus)
    if (const auto memory = number(gpu, "cc_protected_memory_usage/total")) {
      ++known;
      if (*memory > 0) ++with;
    }
  if (known == 0) return out.skip("the GPUs do not report it");
  if (with > 0 && with < s.facts.nvidia.gpus.size())
    out.fail(Severity::note, "some GPUs are in confidential mode and some are not",
             fmt::format("{} of {}", with, s.facts.nvidia.gpus.size()),
             "set one mode for all: label the node nvidia.com/cc.mode for the operator's cc-manager");
  else
    out.pass(with > 0 ? "on" : "off");
}

void inforom(const Subject& s, Verdicts& out) {
  const bool corrupt = s.facts.nvidia.smi_status == 14;
  if (!corrupt && !lists_gpus(s, out)) return;
  std::vector<std::string> wrong;
  if (corrupt) wrong.push_back(s.facts.nvidia.smi_message);
  for (const std::string& line : s.facts.nvidia.smi_warnings)
    if (line.find("infoROM is corrupted") != std::string::npos) wrong.push_back(line);
  for (const Gpu& gpu : s.facts.nvidia.gpus)
    if (gpu.inforom_checksum && base::lower(*gpu.inforom_checksum).starts_with("invalid"))
      wrong.push_back(fmt::format("{}: checksum {}", name_of(gpu), *gpu.inforom_checksum));
  if (!wrong.empty())
    out.fail(gpu_severity(s), "a GPU's infoROM is corrupt", list(wrong),
             "upgrade the GPU's firmware with the vendor's tool, or have the GPU replaced");
}

void vbios_uniform(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  std::map<std::string, std::map<std::string, std::vector<std::string>>> models;
  for (const Gpu& gpu : s.facts.nvidia.gpus)
    if (const auto version = word(gpu, "vbios_version"))
      models[gpu.name][*version].push_back(std::to_string(gpu.index));
  if (models.empty()) return out.skip("the GPUs do not report it");
  for (const auto& [model, versions] : models) {
    if (versions.size() < 2) continue;
    std::vector<std::string> evidence;
    for (const auto& [version, indexes] : versions)
      evidence.push_back(fmt::format("{}: GPU {}", version, list(indexes)));
    out.fail(Severity::note, fmt::format("{}s of one machine have different firmware versions", model),
             base::join(evidence, "; "), "upgrade the GPUs' firmware with the vendor's tool");
  }
}

void dcgm_service(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  const auto place = s.facts.software.units.find("nvidia-dcgm.service");
  if (place == s.facts.software.units.end()) return out.skip("the host has no DCGM service");
  const auto listener = s.facts.network.listeners
                            ? std::ranges::find(*s.facts.network.listeners, 5555, &facts::Listener::port)
                            : std::vector<facts::Listener>::const_iterator();
  const bool other = s.facts.network.listeners && listener != s.facts.network.listeners->end() &&
                     !listener->process.empty() && !listener->process.starts_with("nv-hostengine");
  if (place->second.active == "failed" || other)
    out.fail(
        Severity::note,
        other ? "the port of the host's DCGM is in use by another program" : "the host's DCGM has failed",
        other ? "port 5555: " + listener->process : "nvidia-dcgm.service is failed",
        "systemctl restart nvidia-dcgm; if the operator runs its own: systemctl disable --now nvidia-dcgm");
}

constexpr std::array gpu_use_rows = std::to_array<Check>({
    {"gpu.driver.smi-latency", "nvidia-smi responds quickly", "probes and plugins time out on a slow driver",
     "pci nvidia-smi nvidia-smi-uptime", preflight | node, smi_latency},
    {"gpu.driver.dev-char-symlinks", "systemd can find the driver's device files",
     "containers lose their GPU otherwise", "pci dev-char paths", preflight | node, dev_char},
    {"gpu.driver.idle-node-processes", "no desktop uses the GPUs", "a desktop takes GPU memory from programs",
     "pci nvidia-smi nvidia-smi-xml", preflight | node, graphics},
    {"gpu.health.quarantine", "no GPU is in quarantine", "pods do not get a GPU in quarantine",
     "pci nvidia-smi /etc/gpuadm/quarantine", preflight | node, quarantine},
    {"gpu.mig.supported", "the driver supports MIG on the GPUs",
     "each GPU model needs a minimum driver version",
     "pci nvidia-smi nvidia-smi-xml nvidia-module /proc/driver/nvidia/version "
     "/sys/module/nvidia/version",
     preflight | node, mig_supported},
    {"gpu.mig.instances-match", "GPUs with MIG have instances",
     "a GPU with MIG but no instances cannot be used", "pci nvidia-smi nvidia-smi-xml", preflight | node,
     mig_instances},
    {"gpu.vgpu.guest-version", "virtual GPUs are licensed and compatible with their host",
     "a virtual GPU without a license is slowed down", "pci nvidia-smi nvidia-smi-xml kernel-log",
     preflight | node, vgpu_guest},
    {"gpu.confidential.mode", "all GPUs are in confidential mode or none", "one pod cannot use a mix",
     "pci nvidia-smi nvidia-smi-xml", preflight | node, confidential},
    {"gpu.health.infrom", "the GPUs' infoROM is valid", "the GPU keeps its settings and errors there",
     "pci nvidia-smi nvidia-smi-fields", preflight | node, inforom},
    {"gpu.health.vbios-uniform", "GPUs of one model have the same firmware version",
     "different firmware can behave differently", "pci nvidia-smi nvidia-smi-xml", preflight | node,
     vbios_uniform},
    {"gpu.health.dcgm-service", "only one DCGM monitors the GPUs",
     "two DCGM instances conflict over the counters", "pci units listeners", preflight | node, dcgm_service},
});

}  // namespace

std::span<const Check> gpu_use_checks() {
  return gpu_use_rows;
}

}  // namespace checks
