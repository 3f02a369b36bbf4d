#include "gpuadm/base/text.hpp"

#include "checks/gpu/mig.hpp"
#include "checks/gpu/queries.hpp"
#include "checks/lint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

/// Whether the GPUs support the sharing, MIG layout and allocation in the cluster file.
namespace checks {

namespace {

using base::Version;
using spec::Allocator;

spec::GpuLayout layout_here(const Subject& s) {
  return spec::layout_of(s.cluster, s.host, facts::models_of(s.facts.nvidia));
}

bool wants_mig(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return false;
  if (!layout_here(s).mig.devices.empty()) return true;
  out.not_applicable("MIG is not configured");
  return false;
}

std::string text_of(const std::map<std::string, int>& devices) {
  std::vector<std::string> parts;
  for (const auto& [profile, count] : devices) parts.push_back(fmt::format("{} x {}", count, profile));
  return list(parts);
}

/// The GPU models, by PCI device id and name; only by name if the bus shows none.
std::map<std::string, std::string> kinds_of(const Subject& s) {
  std::map<std::string, std::string> kinds;
  for (const facts::PciGpu& gpu : s.facts.nvidia.pci_gpus) {
    const GpuModel* model = s.data.find_gpu(gpu.device_id, gpu.subsystem);
    kinds.emplace(gpu.device_id, model ? model->name : "the GPU 10de:" + gpu.device_id);
  }
  if (!kinds.empty()) return kinds;
  for (const std::string& name : facts::models_of(s.facts.nvidia)) {
    const auto place = std::ranges::find_if(
        s.data.gpus, [&](const auto& of) { return spec::is_model(of.second.name, name); });
    kinds.emplace(place == s.data.gpus.end() ? "" : place->first.substr(0, place->first.find('/')), name);
  }
  return kinds;
}

/// Whether a GPU without known profiles may have some: a model that is not listed, and one with the compute
/// capability of others that support MIG (NVIDIA's MIG user guide).
bool may_have_mig(const Subject& s, const std::string& device) {
  const GpuModel* model = s.data.find_gpu(device, "");
  if (!model) return true;
  const std::string& capability = model->compute_capability;
  return !model->kind.starts_with("geforce") && (capability == "8.0" || capability == "9.0" ||
                                                 capability.starts_with("10.") || capability == "12.0");
}

void mig_possible(const Subject& s, Verdicts& out) {
  if (!wants_mig(s, out)) return;
  const auto wanted = layout_here(s).mig.devices;
  for (const auto& [device, name] : kinds_of(s)) {
    const auto kind = s.data.migs.find(device);
    if (kind == s.data.migs.end() && may_have_mig(s, device)) {
      out.unknown(fmt::format("no MIG profiles are known for {}; nvidia-smi mig -lgip lists them", name));
      continue;
    }
    const auto trouble = kind == s.data.migs.end() ? fmt::format("no MIG profiles are known for {}", name)
                                                   : mig_trouble(kind->second, wanted).value_or("");
    if (trouble.empty()) continue;
    out.fail(Severity::blocker, fmt::format("{} does not support the MIG layout", name),
             fmt::format("{}: {}", text_of(wanted), trouble),
             "set another layout in gpu.mig of the cluster file, or mig: off; nvidia-smi mig -lgip lists the "
             "profiles");
  }
}

void mig_applied(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (s.facts.nvidia.gpus.empty()) return out.unknown("nvidia-smi lists no GPU");
  const auto& wanted = layout_here(s).mig.devices;
  const int count = std::accumulate(wanted.begin(), wanted.end(), 0,
                                    [](int sum, const auto& of) { return sum + of.second; });
  if (count == 0) return out.not_applicable("MIG is not configured");
  for (const facts::Gpu& gpu : s.facts.nvidia.gpus) {
    const bool on = gpu.mig == "Enabled";
    if (on && gpu.mig_devices == count) continue;
    out.fail(Severity::warning,
             fmt::format("GPU {} ({}) does not have the MIG layout of the cluster file", gpu.index, gpu.name),
             on ? fmt::format("{} instances, configured: {}", gpu.mig_devices, text_of(wanted))
                : fmt::format("MIG is off, configured: {}", text_of(wanted)),
             fmt::format("gpuadm gpu mig {} PROFILE,... on an idle machine", s.host.name));
  }
}

void models_known(const Subject& s, Verdicts& out) {
  if (s.cluster.gpu.models.empty()) return out.not_applicable("gpu.models is empty");
  if (s.cluster.hosts.front().name != s.host.name)
    return out.not_applicable("checked for the first host only");
  for (const LintProblem& c : lint_models(s.cluster, s.data))
    out.fail(c.severity, c.message, c.evidence, c.remedy);
}

void one_layout(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (s.cluster.gpu.models.empty()) return out.not_applicable("gpu.models is empty");
  std::optional<spec::GpuLayout> first;
  for (const std::string& model : facts::models_of(s.facts.nvidia)) {
    const auto layout = spec::layout_of(s.cluster, s.host, {model});
    if (!first) first = layout;
    if (*first == layout) continue;
    const auto names = facts::models_of(s.facts.nvidia);
    return out.fail(
        Severity::blocker, "two GPU models in one host have different sharing or MIG settings",
        list({names.begin(), names.end()}),
        fmt::format("set one for this host: hosts: [{{ name: {}, gpu: {{ sharing: … }} }}]", s.host.name));
  }
}

void dra_versions(const Subject& s, Verdicts& out) {
  if (s.cluster.gpu.allocator != Allocator::dra) return out.not_applicable("gpu.allocator is not dra");
  if (!is_gpu_host(s, out)) return;
  if (!s.kubernetes)
    out.unknown("the version of Kubernetes is not known");
  else if (const auto problem = lint_dra(*s.kubernetes))
    out.fail(problem->severity, problem->message, problem->evidence, problem->remedy);
  const std::string installed =
      s.facts.nvidia.driver ? s.facts.nvidia.driver->version : s.facts.nvidia.driver_installed.value_or("");
  const auto driver = Version::parse(installed);
  if (!driver && s.cluster.gpu.driver == spec::DriverPolicy::use)
    out.unknown("the version of the NVIDIA driver is not known");
  else if (driver && *driver < Version{580, -1, -1})
    out.fail(Severity::blocker, "NVIDIA's DRA driver needs driver 580 or newer", "driver " + installed,
             "install driver 580, or use gpu: { allocator: devicePlugin }");
}

/// Paths that hack/kubelet-plugin-prestart.sh of the DRA driver checks; see playbooks/probe.sh.
void dra_driver_root(const Subject& s, Verdicts& out) {
  if (s.cluster.gpu.allocator != Allocator::dra) return out.not_applicable("gpu.allocator is not dra");
  if (!is_gpu_host(s, out)) return;
  if (is_wsl(s.facts))
    return out.fail(Severity::blocker,
                    "NVIDIA's DRA driver does not support the Windows Subsystem for Linux (WSL)",
                    "the host's GPUs are at /dev/dxg, their libraries in /usr/lib/wsl",
                    "use gpu: { allocator: devicePlugin }, which supports WSL");
  if (s.cluster.gpu.driver == spec::DriverPolicy::install && !s.facts.nvidia.driver)
    return out.skip("the driver is not installed yet");
  if (!s.facts.nvidia.driver_roots)
    return out.unknown("the location of the driver's files could not be read");
  if (const facts::DriverRoot* root = driver_root_of(s.facts.nvidia))
    return out.pass(fmt::format("{}: {}, {}", root->path, root->smi, root->library));
  std::vector<std::string> partial;
  for (const facts::DriverRoot& root : *s.facts.nvidia.driver_roots)
    partial.push_back(
        root.hides_devices
            ? fmt::format("{} has a directory dev without NVIDIA's devices", root.path)
            : fmt::format("{} has only {}", root.path, root.smi.empty() ? root.library : root.smi));
  out.fail(
      Severity::blocker, "NVIDIA's DRA driver cannot find the files of the GPU driver",
      partial.empty() ? "no directory has nvidia-smi or libnvidia-ml.so.1" : list(partial),
      "install the driver with nvidia-smi as a file, not a link, in usr/bin or bin and libnvidia-ml.so.1 in "
      "a library directory below the same root, and no directory dev there, as NVIDIA's packages and .run "
      "files "
      "do; "
      "or use gpu: { allocator: devicePlugin }");
}

void dra_alone(const Subject& s, Verdicts& out) {
  if (s.cluster.gpu.allocator != Allocator::dra) return out.not_applicable("gpu.allocator is not dra");
  const auto& sockets = s.facts.kubernetes.device_plugins;
  if (!sockets) return out.skip("the host is not a node yet");
  std::vector<std::string> nvidia;
  std::ranges::copy_if(*sockets, std::back_inserter(nvidia),
                       [](const std::string& name) { return name.starts_with("nvidia"); });
  if (!nvidia.empty())
    out.fail(
        Severity::warning, "NVIDIA's device plugin serves this node in addition to the DRA driver",
        list(nvidia),
        "kubectl -n kube-system delete daemonset -l app.kubernetes.io/name=nvidia-device-plugin, and any "
        "other that runs it");
}

void cdi_strategy(const Subject& s, Verdicts& out) {
  if (s.cluster.gpu.strategy != spec::DeviceStrategy::cdi)
    return out.not_applicable("gpu.strategy is not cdi");
  if (!is_gpu_host(s, out)) return;
  // DevicePluginCDIDevices: alpha in 1.28, enabled since 1.29 (KEP-4009).
  if (kubernetes_before(s, 29))
    out.fail(Severity::blocker, "the device plugin cannot name CDI devices to this kubelet",
             "Kubernetes " + kubernetes_text(s),
             "use Kubernetes 1.29 or newer, or gpu: { strategy: runtimeClass }");
  const auto& containerd = s.facts.runtime.containerd;
  if (!uses(s, spec::Engine::containerd) || !containerd) return;
  const auto version = Version::parse(containerd->version);
  if (version && *version < Version{1, 7, -1})
    out.fail(Severity::blocker, "containerd is too old for CDI", "containerd " + containerd->version,
             "install containerd 1.7 or newer, or use gpu: { strategy: runtimeClass }");
  else if (version && !containerd->enable_cdi.value_or(*version >= Version{2, 0, -1}))
    out.fail(
        Severity::warning, "containerd ignores CDI devices", "enable_cdi is off",
        "set enable_cdi = true under the CRI plugin in /etc/containerd/config.toml, then: systemctl restart "
        "containerd");
}

constexpr unsigned both = preflight | node;

constexpr std::array gpu_layout_rows = std::to_array<Check>({
    {"gpu.layout.models-known", "the models in gpu.models are known GPUs",
     "settings for a misspelled model have no effect", "pci", both, models_known},
    {"gpu.layout.one-per-host", "all GPUs of a host have the same sharing settings",
     "the device plugin has one sharing setting for each node", "pci nvidia-smi", both, one_layout},
    {"gpu.mig.layout-possible", "the GPUs support the MIG layout", "the driver refuses other layouts",
     "pci nvidia-smi nvidia-smi-xml", both, mig_possible},
    {"gpu.mig.layout-applied", "the GPUs have the MIG layout of the cluster file",
     "pods wait for instances that do not exist", "pci nvidia-smi nvidia-smi-xml", node, mig_applied},
    {"gpu.dra.versions", "Kubernetes and the driver are new enough for the DRA driver",
     "otherwise it does not start, or its devices are not allocated",
     "pci nvidia-module /proc/driver/nvidia/version /sys/module/nvidia/version", both, dra_versions},
    {"gpu.dra.driver-root", "the DRA driver can find the files of the GPU driver",
     "otherwise its pods wait for them, and no pod gets a GPU", "pci driver-roots paths", both,
     dra_driver_root},
    {"gpu.dra.alone", "only the DRA driver allocates the GPUs of the node",
     "otherwise one GPU is allocated to two pods", "pci /var/lib/kubelet/device-plugins/", both, dra_alone},
    {"gpu.cdi.strategy", "the kubelet and the runtime accept CDI devices of the device plugin",
     "otherwise containers start without their GPU",
     "pci containerd containerd-dump /etc/containerd/config.toml", both, cdi_strategy},
});

}  // namespace

std::span<const Check> gpu_layout_checks() {
  return gpu_layout_rows;
}

}  // namespace checks
