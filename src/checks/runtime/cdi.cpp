#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace checks {

namespace {

std::string mode_of(const facts::Toolkit& toolkit) {
  const base::Tree* mode =
      toolkit.config ? toolkit.config->at({"nvidia-container-runtime", "mode"}) : nullptr;
  return mode && !mode->text().empty() ? mode->text() : "auto";
}

bool is_on(const base::Tree& config, std::initializer_list<std::string_view> path) {
  const base::Tree* value = config.at(path);
  return value && value->as_bool().value_or(false);
}

void config_valid(const Subject& s, Verdicts& out) {
  const auto& toolkit = s.facts.nvidia.toolkit;
  const std::string file = "/etc/nvidia-container-runtime/config.toml";
  if (!toolkit.config_error.empty())
    return out.fail(gpu_severity(s), "the NVIDIA Container Toolkit cannot read its configuration",
                    toolkit.config_error, "move " + file + " away, then: nvidia-ctk config --in-place");
  if (!toolkit.config) return out.skip("there is no " + file);
  const std::string mode = mode_of(toolkit);
  if (!has({"auto", "legacy", "csv", "cdi", "jit-cdi"}, mode))
    out.fail(gpu_severity(s), "the NVIDIA Container Toolkit has an unknown mode", "mode = " + mode,
             "nvidia-ctk config --in-place --set nvidia-container-runtime.mode=auto");
  if (is_on(*toolkit.config, {"nvidia-container-cli", "no-cgroups"}))
    out.fail(Severity::warning, "containers see GPUs but cannot open them", "no-cgroups = true",
             "nvidia-ctk config --in-place --set nvidia-container-cli.no-cgroups=false");
  const base::Tree* by_variable =
      toolkit.config->find("accept-nvidia-visible-devices-envvar-when-unprivileged");
  if (by_variable && by_variable->as_bool() == false && s.cluster.gpu.stack == spec::GpuStack::native &&
      s.cluster.gpu.allocator == spec::Allocator::device_plugin &&
      s.cluster.gpu.strategy == spec::DeviceStrategy::runtime_class &&
      !is_on(*toolkit.config, {"accept-nvidia-visible-devices-as-volume-mounts"}))
    out.fail(Severity::warning, "the toolkit ignores the GPUs that the device plugin gives to pods",
             "accept-nvidia-visible-devices-envvar-when-unprivileged = false",
             "nvidia-ctk config --in-place --set "
             "accept-nvidia-visible-devices-envvar-when-unprivileged=true, or let the plugin pass GPUs "
             "otherwise: gpu: { strategy: cdi }");
  if (is_on(*toolkit.config, {"disable-require"}))
    out.fail(Severity::note, "images also start on drivers that are too old for them",
             "disable-require = true", "nvidia-ctk config --in-place --set disable-require=false");
}

void default_runtime(const Subject& s, Verdicts& out) {
  const auto* containerd = containerd_of(s, out);
  if (!containerd) return;
  if (containerd->runtimes.empty()) return out.unknown("containerd's runtimes could not be read");
  const std::string name = containerd->default_runtime.empty() ? "runc" : containerd->default_runtime;
  if (!containerd->runtimes.contains(name))
    return out.fail(
        s.stage == Stage::node ? Severity::blocker : Severity::warning,
        "containerd's default runtime is not defined",
        fmt::format("default_runtime_name = {}, but no runtime has that name", name),
        "nvidia-ctk runtime configure --runtime=containerd, or set default_runtime_name = \"runc\"");
  if (!has_gpu(s.facts)) return out.pass(name);
  out.pass(name == "nvidia" ? "nvidia: every pod can use GPUs"
                            : name + ": pods select the nvidia runtime by a RuntimeClass");
}

struct Trouble {
  std::string_view contains, message, remedy;
};
constexpr std::array cli_troubles = {
    Trouble{"driver not loaded", "the toolkit finds no driver", "modprobe nvidia && nvidia-modprobe -c0 -u"},
    Trouble{"insufficient permissions", "the toolkit has no permission to open the GPU's devices",
            "allow the host's cgroup or its outer container to open /dev/nvidia*"},
    Trouble{"libnvidia-ml.so.1", "the toolkit does not find the driver's libraries",
            "@driver-libraries@, then: ldconfig"},
    Trouble{"version mismatch", "the driver's module and its libraries differ",
            "reboot the host, or reload the module"},
    Trouble{"detection error: open failed",
            "the cache of libraries names libraries of another driver version",
            "ldconfig, then: nvidia-container-cli info"},
    Trouble{"cgroup subsystem devices not found", "the toolkit is too old for cgroup v2",
            "@upgrade@ nvidia-container-toolkit"},
};

void cli_info(const Subject& s, Verdicts& out) {
  const auto& toolkit = s.facts.nvidia.toolkit;
  if (!toolkit.cli_status) return out.skip("nvidia-container-cli was not run: it or the driver is missing");
  if (*toolkit.cli_status == 0) return;
  for (const Trouble& trouble : cli_troubles)
    if (toolkit.cli_message.find(trouble.contains) != std::string::npos)
      return out.fail(gpu_severity(s), std::string(trouble.message), toolkit.cli_message,
                      std::string(trouble.remedy));
  out.fail(gpu_severity(s), "the toolkit cannot query the GPUs",
           fmt::format("status {}: {}", *toolkit.cli_status, toolkit.cli_message),
           "nvidia-container-cli -d /dev/stderr info");
}

constexpr std::string_view generate = "nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml";

/// Whether a specification contains the GPU, or a MIG device of it.
bool names(const facts::CdiSpec& spec, const facts::Gpu& gpu) {
  const std::string index = std::to_string(gpu.index);
  return std::ranges::any_of(spec.devices, [&](const std::string& device) {
    return device == index || device == gpu.uuid || device == "gpu" + index ||
           device.starts_with(index + ":") || device.starts_with("mig" + index + ":") ||
           device.starts_with("MIG-");
  });
}

/// Only the toolkit's; device plugin and DRA driver write their own.
std::vector<const facts::CdiSpec*> specs_of(const Subject& s) {
  std::vector<const facts::CdiSpec*> specs;
  for (const facts::CdiSpec& spec : s.facts.nvidia.toolkit.cdi)
    if (spec.kind == "nvidia.com/gpu") specs.push_back(&spec);
  return specs;
}

void spec_present(const Subject& s, Verdicts& out) {
  if (!is_ready_for_toolkit(s, out)) return;
  const auto specs = specs_of(s);
  // nvidia-container-toolkit#1895: it describes all GPUs to daemons, and no single one to pods.
  const auto& all = s.facts.nvidia.toolkit.cdi;
  const auto management = std::ranges::find(all, "management.nvidia.com/gpu", &facts::CdiSpec::kind);
  const bool by_plugin = std::ranges::any_of(
      all, [](const facts::CdiSpec& spec) { return spec.kind.starts_with("k8s.device-plugin.nvidia.com/"); });
  const bool wanted =
      mode_of(s.facts.nvidia.toolkit) == "cdi" || s.cluster.gpu.strategy == spec::DeviceStrategy::cdi;
  if (specs.empty() && wanted && management != all.end() && !by_plugin && s.stage == Stage::node &&
      management->file.ends_with("/nvidia.yaml"))
    return out.fail(gpu_severity(s), "no CDI specification describes single GPUs: pods get none",
                    fmt::format("{} describes only management.nvidia.com/gpu", management->file),
                    std::string(generate));
  if (specs.empty() && mode_of(s.facts.nvidia.toolkit) != "cdi") return out.skip("CDI is not in use");
  if (specs.empty())
    return out.fail(gpu_severity(s),
                    "the toolkit is in CDI mode, and no CDI specification describes the GPUs",
                    "no specification of nvidia.com/gpu in /etc/cdi or /run/cdi", std::string(generate));
  if (s.facts.nvidia.gpus.empty()) return out.unknown("nvidia-smi lists no GPU to compare with");
  std::vector<std::string> missing;
  const bool partial = std::ranges::any_of(specs, [](const auto* spec) { return spec->partial; });
  for (const facts::Gpu& gpu : s.facts.nvidia.gpus)
    if (!partial && std::ranges::none_of(specs, [&](const auto* spec) { return names(*spec, gpu); }))
      missing.push_back(fmt::format("GPU {}", gpu.index));
  if (!missing.empty())
    out.fail(Severity::warning, "GPUs are missing from the CDI specification",
             fmt::format("{} in no file: {}", list(missing), specs.front()->file), std::string(generate));
}

/// Of two specifications that describe the same devices, the one in the later folder counts: /var/run/cdi
/// (/run/cdi) after /etc/cdi (https://github.com/cncf-tags/container-device-interface, pkg/cdi/spec-dirs.go).
bool is_overridden(const facts::CdiSpec& spec, const std::vector<const facts::CdiSpec*>& specs) {
  return spec.file.starts_with("/etc/") && std::ranges::any_of(specs, [&](const facts::CdiSpec* other) {
           return other->file.starts_with("/run/") &&
                  std::ranges::all_of(spec.devices,
                                      [&](const auto& device) { return has(other->devices, device); });
         });
}

void report_old(const Subject& s, const facts::CdiSpec& spec, const std::string& version,
                const std::string& driver, const std::vector<const facts::CdiSpec*>& specs, Verdicts& out) {
  const std::string evidence =
      fmt::format("{} mounts libraries of {}; the driver is {}", spec.file, version, driver);
  if (is_overridden(spec, specs))
    return out.fail(Severity::warning, "a CDI specification of another driver version is left over",
                    evidence + "; the one in /run/cdi counts", "rm " + spec.file);
  out.fail(gpu_severity(s),
           "the CDI specification belongs to another driver version: containers with GPUs do not start",
           evidence,
           fmt::format("nvidia-ctk cdi generate --output={}",
                       spec.file.starts_with("/run/") ? "/var" + spec.file : spec.file));
}

void spec_stale(const Subject& s, Verdicts& out) {
  const auto specs = specs_of(s);
  if (specs.empty()) return out.skip("there is no CDI specification of the toolkit");
  const std::string driver = s.facts.nvidia.driver ? s.facts.nvidia.driver->version : "";
  if (driver.empty()) return out.unknown("the driver's version is not known");
  for (const facts::CdiSpec* spec : specs) {
    for (const std::string& version : spec->versions)
      if (version != driver) report_old(s, *spec, version, driver, specs, out);
    for (const std::string& device : spec->devices)
      if (device.starts_with("GPU-") && !s.facts.nvidia.gpus.empty() &&
          std::ranges::find(s.facts.nvidia.gpus, device, &facts::Gpu::uuid) == s.facts.nvidia.gpus.end())
        out.fail(Severity::warning, "the CDI specification names a GPU that does not exist",
                 fmt::format("{} in {}", device, spec->file), std::string(generate));
  }
  if (specs.size() > 1 && specs[0]->devices == specs[1]->devices)
    out.fail(Severity::warning, "two CDI specifications describe the same GPUs",
             fmt::format("{} and {}", specs[0]->file, specs[1]->file),
             fmt::format("rm {}; nvidia-cdi-refresh maintains the other", specs[0]->file));
}

/// Programs that a specification of any vendor runs in each container: one that is gone stops the container.
void hooks_present(const Subject& s, Verdicts& out) {
  const auto& all = s.facts.nvidia.toolkit.cdi;
  if (all.empty()) return out.skip("there is no CDI specification");
  if (s.facts.software.tools.empty()) return out.unknown("the probe listed no tools");
  std::set<std::string> there;
  for (const auto& [tool, path] : s.facts.software.tool_paths) there.insert(path);
  for (const auto& [path, kind] : s.facts.software.paths) there.insert(path);
  for (const facts::CdiSpec& spec : all)
    for (const std::string& hook : spec.hooks) {
      const std::string name = hook.substr(hook.rfind('/') + 1);
      // Whether nvidia-cdi-hook exists is known only if the probe looked for it; it comes with nvidia-ctk.
      const bool looked = name == "nvidia-ctk" || (name == "nvidia-cdi-hook" && !s.facts.nvidia.ctk);
      if (looked && hook.starts_with("/usr/") && !hook.starts_with("/usr/local/nvidia/toolkit/") &&
          !there.contains(hook))
        return out.fail(
            gpu_severity(s), "a CDI specification runs a program that is not there: containers do not start",
            fmt::format("{} runs {}", spec.file, hook),
            s.facts.nvidia.ctk ? std::string(generate) : "@install-toolkit@, then: " + std::string(generate));
    }
}

void refresh_service(const Subject& s, Verdicts& out) {
  const auto path = s.facts.software.units.find("nvidia-cdi-refresh.path");
  if (path == s.facts.software.units.end()) return out.skip("this toolkit has no nvidia-cdi-refresh");
  const auto service = s.facts.software.units.find("nvidia-cdi-refresh.service");
  if (service != s.facts.software.units.end() && service->second.active == "failed")
    return out.fail(Severity::warning, "the refresh of the CDI specification has failed",
                    "nvidia-cdi-refresh.service has failed", "journalctl -u nvidia-cdi-refresh -n 30");
  if (path->second.enabled != "enabled")
    out.fail(Severity::note, "the CDI specification is not refreshed after a driver upgrade",
             "nvidia-cdi-refresh.path is " + path->second.enabled,
             "systemctl enable --now nvidia-cdi-refresh.path nvidia-cdi-refresh.service");
}

void selinux_context(const Subject& s, Verdicts& out) {
  if (s.facts.security.selinux.value_or("") != "enforcing") return out.skip("SELinux is not enforcing");
  if (!is_gpu_host(s, out)) return;
  if (!s.facts.nvidia.device_label) return out.unknown("the label of /dev/nvidia0 could not be read");
  if (has({"xserver_misc_device_t", "container_device_t", "container_file_t"}, *s.facts.nvidia.device_label))
    return out.pass(*s.facts.nvidia.device_label);
  out.fail(Severity::warning, "SELinux may deny containers the GPU",
           "/dev/nvidia0 is " + *s.facts.nvidia.device_label,
           "restorecon -v /dev/nvidia*; containers also need setsebool -P container_use_devices 1");
}

constexpr std::array cdi_rows = std::to_array<Check>({
    {"nct.config-valid", "the toolkit's configuration is valid",
     "the toolkit sets up every container with a GPU",
     "pci tools nvidia-ctk /etc/nvidia-container-runtime/config.toml", preflight | node, config_valid},
    {"nct.default-runtime", "containerd's default runtime is defined",
     "every pod without a RuntimeClass uses it",
     "pci tools nvidia-ctk containerd-dump /etc/containerd/config.toml", preflight | node, default_runtime},
    {"nct.cli-info", "the toolkit can query the GPUs", "it mounts what it finds into containers",
     "pci tools nvidia-ctk nvidia-container-cli", preflight | node, cli_info},
    {"nct.cdi-spec-present", "every GPU is described for CDI",
     "a container cannot request a GPU that is not described",
     "pci tools nvidia-ctk /etc/cdi/* /run/cdi/* nvidia-smi "
     "/etc/nvidia-container-runtime/config.toml",
     preflight | node, spec_present},
    {"nct.cdi-spec-stale", "the CDI specification matches the driver and the GPUs",
     "it names files by the driver's version",
     "pci tools nvidia-ctk /etc/cdi/* /run/cdi/* nvidia-smi /proc/driver/nvidia/version", preflight | node,
     spec_stale},
    {"nct.cdi-refresh-service", "the CDI specification is refreshed with the driver",
     "a driver upgrade makes the old one invalid", "pci tools nvidia-ctk units", preflight | node,
     refresh_service},
    {"nct.cdi-hooks", "the programs that CDI specifications run exist",
     "a container does not start without them", "pci tools paths nvidia-ctk /etc/cdi/* /run/cdi/*",
     preflight | node, hooks_present},
    {"nct.selinux-context", "SELinux lets containers open the GPU", "a wrong label looks like a missing GPU",
     "pci tools nvidia-ctk /sys/fs/selinux/enforce device-label", preflight | node, selinux_context},
});

}  // namespace

std::span<const Check> cdi_checks() {
  return cdi_rows;
}

}  // namespace checks
