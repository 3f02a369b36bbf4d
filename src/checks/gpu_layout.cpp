#include "gpuadm/base/text.hpp"

#include "checks/lint.hpp"
#include "checks/mig.hpp"
#include "checks/see.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

/// Whether the GPUs can be shared, divided and handed out as the cluster file wants it.
namespace checks {

namespace {

using base::Version;
using spec::Allocator;

spec::GpuLayout layout_here(const Subject& s) {
  return spec::layout_of(s.cluster, s.host, facts::models_of(s.facts));
}

bool has_gpus(const Subject& s, Verdicts& out) {
  if (has_gpu(s.facts)) return true;
  out.skip("no NVIDIA GPU on the PCI bus");
  return false;
}

bool wants_mig(const Subject& s, Verdicts& out) {
  if (!has_gpus(s, out)) return false;
  if (!layout_here(s).mig.devices.empty()) return true;
  out.skip("MIG is not asked for");
  return false;
}

std::string text_of(const std::map<std::string, int>& devices) {
  std::vector<std::string> parts;
  for (const auto& [profile, count] : devices) parts.push_back(fmt::format("{} x {}", count, profile));
  return list(parts);
}

/// The kinds of GPU here, PCI device id and name; by the name alone where the bus shows none.
std::map<std::string, std::string> kinds_of(const Subject& s) {
  std::map<std::string, std::string> kinds;
  for (const facts::PciGpu& gpu : s.facts.pci_gpus) {
    const GpuModel* model = s.data.find_gpu(gpu.device_id, gpu.subsystem);
    kinds.emplace(gpu.device_id, model ? model->name : "the GPU 10de:" + gpu.device_id);
  }
  if (!kinds.empty()) return kinds;
  for (const std::string& name : facts::models_of(s.facts)) {
    const auto place = std::ranges::find_if(
        s.data.gpus, [&](const auto& of) { return spec::is_model(of.second.name, name); });
    kinds.emplace(place == s.data.gpus.end() ? "" : place->first.substr(0, place->first.find('/')), name);
  }
  return kinds;
}

void mig_possible(const Subject& s, Verdicts& out) {
  if (!wants_mig(s, out)) return;
  const auto wanted = layout_here(s).mig.devices;
  for (const auto& [device, name] : kinds_of(s)) {
    const auto kind = s.data.migs.find(device);
    const auto trouble = kind == s.data.migs.end() ? fmt::format("of {} no MIG profiles are known", name)
                                                   : mig_trouble(kind->second, wanted).value_or("");
    if (trouble.empty()) continue;
    out.fail(Severity::blocker, fmt::format("{} cannot be divided as asked", name),
             fmt::format("{}: {}", text_of(wanted), trouble),
             "choose another layout in gpu.mig of the cluster file, or mig: off; nvidia-smi mig -lgip shows "
             "what there is");
  }
}

void mig_applied(const Subject& s, Verdicts& out) {
  if (!has_gpus(s, out)) return;
  if (s.facts.gpus.empty()) return out.unknown("nvidia-smi lists no GPUs");
  const auto& wanted = layout_here(s).mig.devices;
  const int count = std::accumulate(wanted.begin(), wanted.end(), 0,
                                    [](int sum, const auto& of) { return sum + of.second; });
  if (count == 0) return out.skip("MIG is not asked for");
  for (const facts::Gpu& gpu : s.facts.gpus) {
    const bool on = gpu.mig == "Enabled";
    if (on && gpu.mig_devices == count) continue;
    out.fail(Severity::warning, fmt::format("GPU {} ({}) is not divided as asked", gpu.index, gpu.name),
             on ? fmt::format("{} instances, asked for: {}", gpu.mig_devices, text_of(wanted))
                : fmt::format("MIG is off, asked for: {}", text_of(wanted)),
             fmt::format("gpuadm gpu mig {} on an idle machine", s.host.name));
  }
}

void models_known(const Subject& s, Verdicts& out) {
  if (s.cluster.gpu.models.empty()) return out.skip("gpu.models is empty");
  if (s.cluster.hosts.front().name != s.host.name) return out.skip("said of the first host");
  for (const Complaint& c : lint_models(s.cluster, s.data))
    out.fail(c.severity, c.says, c.evidence, c.remedy);
}

void one_layout(const Subject& s, Verdicts& out) {
  if (!has_gpus(s, out)) return;
  if (s.cluster.gpu.models.empty()) return out.skip("gpu.models is empty");
  std::optional<spec::GpuLayout> first;
  for (const std::string& model : facts::models_of(s.facts)) {
    const auto layout = spec::layout_of(s.cluster, s.host, {model});
    if (!first) first = layout;
    if (*first == layout) continue;
    const auto names = facts::models_of(s.facts);
    return out.fail(
        Severity::blocker, "two models of GPU in one host are to be shared or divided differently",
        list({names.begin(), names.end()}),
        fmt::format("say what holds for this host: hosts: [{{ name: {}, gpu: {{ sharing: … }} }}]",
                    s.host.name));
  }
}

void dra_versions(const Subject& s, Verdicts& out) {
  if (s.cluster.gpu.allocator != Allocator::dra) return out.skip("gpu.allocator is not dra");
  if (!has_gpus(s, out)) return;
  if (!s.kubernetes)
    out.unknown("the version of Kubernetes is not known");
  else if (*s.kubernetes < Version{1, 34, s.kubernetes->patch < 0 ? -1 : 2})
    out.fail(Severity::blocker, "NVIDIA's DRA driver needs Kubernetes 1.34.2 or newer",
             "Kubernetes " + s.kubernetes->text(),
             "use Kubernetes 1.34.2 or newer, or gpu: { allocator: devicePlugin }");
  const std::string installed =
      s.facts.driver ? s.facts.driver->version : s.facts.driver_installed.value_or("");
  const auto driver = Version::parse(installed);
  if (!driver && s.cluster.gpu.driver == spec::DriverPolicy::use)
    out.unknown("the version of the NVIDIA driver is not known");
  else if (driver && *driver < Version{580, -1, -1})
    out.fail(Severity::blocker, "NVIDIA's DRA driver needs driver 580 or newer", "driver " + installed,
             "install driver 580, or use gpu: { allocator: devicePlugin }");
}

/// Where hack/kubelet-plugin-prestart.sh of the DRA driver looks; see playbooks/probe.sh.
void dra_driver_root(const Subject& s, Verdicts& out) {
  if (s.cluster.gpu.allocator != Allocator::dra) return out.skip("gpu.allocator is not dra");
  if (!has_gpus(s, out)) return;
  if (s.cluster.gpu.driver == spec::DriverPolicy::install && !s.facts.driver)
    return out.skip("the driver is not installed yet");
  if (!s.facts.driver_roots) return out.unknown("where the files of the driver are could not be read");
  if (const facts::DriverRoot* root = driver_root_of(s.facts))
    return out.pass(fmt::format("{}: {}, {}", root->path, root->smi, root->library));
  std::vector<std::string> partial;
  for (const facts::DriverRoot& root : *s.facts.driver_roots)
    partial.push_back(
        root.hides_devices
            ? fmt::format("{} has a folder dev without NVIDIA's devices", root.path)
            : fmt::format("{} has only {}", root.path, root.smi.empty() ? root.library : root.smi));
  out.fail(
      Severity::blocker, "NVIDIA's DRA driver cannot find the files of the GPU driver",
      partial.empty() ? "no folder has nvidia-smi or libnvidia-ml.so.1" : list(partial),
      "install the driver with nvidia-smi as a file, not a link, in usr/bin or bin and libnvidia-ml.so.1 in "
      "a library folder below the same root, and no folder dev there, as NVIDIA's packages and .run files "
      "do; "
      "or use gpu: { allocator: devicePlugin }");
}

void dra_alone(const Subject& s, Verdicts& out) {
  if (s.cluster.gpu.allocator != Allocator::dra) return out.skip("gpu.allocator is not dra");
  const auto& sockets = s.facts.kubernetes.device_plugins;
  if (!sockets) return out.skip("the host is no node yet");
  std::vector<std::string> nvidia;
  std::ranges::copy_if(*sockets, std::back_inserter(nvidia),
                       [](const std::string& name) { return name.starts_with("nvidia"); });
  if (!nvidia.empty())
    out.fail(
        Severity::warning, "NVIDIA's device plugin serves this node beside the DRA driver", list(nvidia),
        "kubectl -n kube-system delete daemonset -l app.kubernetes.io/name=nvidia-device-plugin, and any "
        "other that runs it");
}

void cdi_strategy(const Subject& s, Verdicts& out) {
  if (s.cluster.gpu.strategy != spec::DeviceStrategy::cdi) return out.skip("gpu.strategy is not cdi");
  if (!has_gpus(s, out)) return;
  // DevicePluginCDIDevices: alpha in 1.28, on from 1.29 (KEP-4009).
  if (kubernetes_before(s, 29))
    out.fail(Severity::blocker, "the device plugin cannot name CDI devices to this kubelet",
             "Kubernetes " + kubernetes_text(s),
             "use Kubernetes 1.29 or newer, or gpu: { strategy: runtimeClass }");
  const auto& containerd = s.facts.containerd;
  if (!uses(s, spec::Engine::containerd) || !containerd) return;
  const auto version = Version::parse(containerd->version);
  if (version && *version < Version{1, 7, -1})
    out.fail(Severity::blocker, "containerd knows CDI from 1.7 on", "containerd " + containerd->version,
             "install containerd 1.7 or newer, or use gpu: { strategy: runtimeClass }");
  else if (version && !containerd->enable_cdi.value_or(*version >= Version{2, 0, -1}))
    out.fail(
        Severity::warning, "containerd ignores CDI devices", "enable_cdi is off",
        "set enable_cdi = true under the CRI plugin in /etc/containerd/config.toml, then: systemctl restart "
        "containerd");
}

constexpr unsigned both = preflight | node;

constexpr std::array rows = std::to_array<Check>({
    {"gpu.layout.models-known", "the models in gpu.models are GPUs that exist",
     "a misspelt one changes nothing", both, models_known},
    {"gpu.layout.one-per-host", "all GPUs of a host are to be shared alike",
     "the device plugin shares the GPUs of a node one way", both, one_layout},
    {"gpu.mig.layout-possible", "the GPUs can be divided as asked", "the driver refuses other layouts", both,
     mig_possible},
    {"gpu.mig.layout-applied", "the GPUs are divided as asked", "pods wait for instances that are not there",
     node, mig_applied},
    {"gpu.dra.versions", "Kubernetes and the driver are new enough for the DRA driver",
     "it would not start, or its devices would not be handed out", both, dra_versions},
    {"gpu.dra.driver-root", "the DRA driver can find the files of the GPU driver",
     "its pods would wait for them, and no pod would get a GPU", both, dra_driver_root},
    {"gpu.dra.alone", "nothing but the DRA driver hands out the GPUs of the node",
     "one GPU would go to two pods", both, dra_alone},
    {"gpu.cdi.strategy", "kubelet and runtime take CDI devices from the device plugin",
     "containers would start without their GPU", both, cdi_strategy},
});

}  // namespace

std::span<const Check> gpu_layout_checks() {
  return rows;
}

}  // namespace checks
