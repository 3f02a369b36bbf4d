#include "gpuadm/base/text.hpp"
#include "gpuadm/base/toml.hpp"

#include "checks/evidence.hpp"
#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using base::Version;

constexpr double gib = 1024.0 * 1024.0;  // of KiB

void registry_config(const Subject& s, Verdicts& out) {
  const auto* containerd = containerd_of(s, out);
  if (!containerd) return;
  const std::string& path = containerd->registry_config_path;
  const std::string hosts =
      "write a hosts.toml for each registry under /etc/containerd/certs.d, and set config_path to that "
      "directory";
  if (!containerd->old_mirrors.empty() && !path.empty())
    return out.fail(Severity::blocker, "containerd's CRI refuses registry.mirrors together with config_path",
                    fmt::format("mirrors of {}; config_path = {}", list(containerd->old_mirrors), path),
                    "remove registry.mirrors from the configuration; " + hosts);
  if (!containerd->old_mirrors.empty())
    return out.fail(Severity::warning,
                    "registry mirrors are set in the old form, which containerd 2.4 no longer reads",
                    "registry.mirrors of " + list(containerd->old_mirrors), hosts);
  if (s.stage == Stage::node && !s.cluster.mirrors.registries.empty() && path.empty())
    return out.fail(Severity::warning, "the cluster file names registry mirrors, and containerd uses none",
                    "config_path is empty", hosts);
  out.pass(path.empty() ? "no mirrors are set" : "config_path = " + path);
}

/// Every scalar of a tree by its path.
void flatten(const base::Tree& tree, const std::string& path, std::map<std::string, std::string>& into) {
  if (tree.is_map())
    for (const auto& [key, value] : tree.entries())
      flatten(value, path.empty() ? key : path + "." + key, into);
  else if (tree.is_scalar())
    into[path] = tree.text();
}

/// gpuadm's settings that a later file overrides. containerd merges its files in the order of `imports` in
/// its dump, later ones over earlier ones (containerd cmd/containerd/server/config).
void overruled(const facts::Containerd& containerd, Verdicts& out) {
  const auto& loaded = containerd.loaded_files;
  const auto ours =
      std::ranges::find_if(loaded, [](const std::string& file) { return file.ends_with("/zz-gpuadm.toml"); });
  if (ours == loaded.end()) return;
  const auto values_of = [&](const std::string& file) {
    std::map<std::string, std::string> values;
    const auto text = containerd.drop_in_texts.find(file);
    if (text == containerd.drop_in_texts.end()) return values;
    if (const auto tree = base::toml::read(text->second, file)) flatten(*tree, {}, values);
    return values;
  };
  const auto wanted = values_of(*ours);
  for (auto later = ours + 1; later != loaded.end(); ++later)
    for (const auto& [key, value] : values_of(*later))
      if (const auto place = wanted.find(key);
          key != "version" && place != wanted.end() && place->second != value)
        out.fail(Severity::warning, "a drop-in of containerd overrides gpuadm's settings",
                 fmt::format("{}: {} in {}, {} in {}, which is read later", key, place->second, *ours, value,
                             *later),
                 fmt::format("rename {} so that it comes before {}, then: gpuadm runtime configure", *later,
                             ours->substr(ours->rfind('/') + 1)));
}

void imports(const Subject& s, Verdicts& out) {
  const auto* containerd = containerd_of(s, out);
  if (!containerd) return;
  if (containerd->drop_ins.empty()) return out.pass("there are no drop-ins");
  if (containerd->loaded_files.empty())
    return out.unknown("the list of files that containerd reads could not be read");
  std::map<std::string, std::pair<std::string, std::string>> seen;  // key -> file, value
  for (const auto& [file, text] : containerd->drop_in_texts) {
    if (!has(containerd->loaded_files, file)) {
      out.fail(Severity::warning, "containerd does not read an existing drop-in",
               fmt::format("{} is not among {}", file, list(containerd->loaded_files)),
               "add imports = [\"" + file.substr(0, file.rfind('/')) +
                   "/*.toml\"] to /etc/containerd/config.toml, then: systemctl restart containerd");
      continue;
    }
    const auto tree = base::toml::read(text, file);
    if (!tree) continue;                              // reported by rt.containerd.config-parses
    if (file.ends_with("/zz-gpuadm.toml")) continue;  // is meant to override
    std::map<std::string, std::string> values;
    flatten(*tree, {}, values);
    for (const auto& [key, value] : values) {
      const auto [place, fresh] = seen.try_emplace(key, file, value);
      if (!fresh && key != "version" && place->second.second != value)
        out.fail(Severity::warning, "two drop-ins of containerd set one key differently",
                 fmt::format("{}: {} in {}, {} in {}", key, place->second.second, place->second.first, value,
                             file),
                 "remove the stale one of the two files, then: systemctl restart containerd");
    }
  }
  overruled(*containerd, out);
}

/// Images with CUDA are 10 to 20 GB each, unpacked in addition to the layers.
void root_ns(const Subject& s, Verdicts& out) {
  const auto* containerd = containerd_of(s, out);
  if (!containerd) return;
  if (!is_gpu_host(s, out)) return;
  const std::string root = containerd->root.empty() ? "/var/lib/containerd" : containerd->root;
  const facts::Disk* disk = disk_of(s.facts, root);
  if (!disk) return out.unknown("the file system of " + root + " could not be read");
  const double free = static_cast<double>(disk->free_kib) / gib;
  const std::string evidence = fmt::format("{:.0f} GiB free under {}", free, root);
  if (free >= 50) return out.pass(evidence);
  out.fail(Severity::note, "little space is left for images with CUDA", evidence,
           "give " + root + " a larger file system, or: crictl rmi --prune");
}

/// "infinity" and the largest number are equal.
bool is_at_least(const std::string& value, std::uint64_t least) {
  const auto number = base::to_int(value);
  return value.empty() || !number || static_cast<std::uint64_t>(*number) >= least;
}

void limits(const Subject& s, Verdicts& out) {
  const auto* containerd = containerd_of(s, out);
  if (!containerd) return;
  const auto unit = s.facts.software.units.find("containerd.service");
  if (unit == s.facts.software.units.end() || unit->second.limits.empty())
    return out.unknown("the limits of containerd.service could not be read");
  const auto value = [&](const char* key) {
    const auto place = unit->second.limits.find(key);
    return place == unit->second.limits.end() ? std::string() : place->second;
  };
  const auto limit = [&](Severity severity, const char* key, const char* message, const char* wanted) {
    out.fail(severity, message, fmt::format("containerd.service has {}={}", key, value(key)),
             fmt::format("systemctl edit containerd: [Service] {}={}, then: systemctl restart containerd",
                         std::string_view(key) == "LimitNOFILESoft" ? "LimitNOFILE" : key, wanted));
  };
  if (!is_at_least(value("LimitNOFILE"), 65536))
    limit(Severity::note, "LimitNOFILE", "containers have a low limit on open files", "infinity");
  // Programs start with the soft limit: systemd's default is 1024, with a hard limit of 524288.
  const std::string soft = value("LimitNOFILESoft");
  constexpr const char* few = "programs in containers may open few files at once";
  if (!soft.empty() && !is_at_least(soft, 8192)) limit(Severity::warning, "LimitNOFILESoft", few, "infinity");
  if (soft.empty() && value("LimitNOFILE") == "524288")
    out.fail(
        Severity::warning, few,
        "containerd.service has LimitNOFILE=524288, systemd's default, with a soft limit of 1024 (it was "
        "not read)",
        "systemctl edit containerd: [Service] LimitNOFILE=infinity, then: systemctl restart containerd");
  if (!is_at_least(value("TasksMax"), 16384))
    limit(Severity::note, "TasksMax", "containerd has a low limit on processes", "infinity");
  if (value("Delegate") == "no")
    limit(Severity::warning, "Delegate", "systemd may change the cgroups of containers", "yes");
  if (has(s.facts.kernel.modules, "ib_uverbs") && !is_at_least(value("LimitMEMLOCK"), std::uint64_t{1} << 40))
    limit(Severity::warning, "LimitMEMLOCK", "containers cannot pin enough memory for RDMA", "infinity");
}

void enable_cdi(const Subject& s, Verdicts& out) {
  const auto* containerd = containerd_of(s, out);
  if (!containerd || !is_ready_for_toolkit(s, out)) return;
  const bool dra = s.cluster.gpu.allocator == spec::Allocator::dra;
  if (!dra && s.facts.nvidia.toolkit.cdi.empty()) return out.skip("CDI is not in use");
  const auto version = Version::parse(containerd->version);
  if (!dra && version && *version < Version{1, 7, -1}) return out.skip("containerd supports CDI from 1.7 on");
  const bool from_two = version && *version >= Version{2, 0, -1};
  const std::string& user = dra ? "gpu.allocator: dra" : s.facts.nvidia.toolkit.cdi.front().file;
  if (!containerd->enable_cdi.value_or(from_two))
    return out.fail(
        dra ? gpu_severity(s) : Severity::warning, "containerd ignores CDI devices",
        fmt::format("enable_cdi is off; {} needs it", user),
        "set enable_cdi = true under the CRI plugin in /etc/containerd/config.toml, then: systemctl "
        "restart containerd");
  const auto reads = [&](std::string_view file) {
    if (containerd->cdi_dirs.empty()) return true;
    return std::ranges::any_of(containerd->cdi_dirs, [&](std::string dir) {
      if (dir.starts_with("/var/run/")) dir.erase(0, 4);
      return file.starts_with(dir + "/");
    });
  };
  for (const facts::CdiSpec& spec : s.facts.nvidia.toolkit.cdi)
    if (!reads(spec.file))
      out.fail(Severity::warning, "containerd does not read the directory of a CDI specification",
               fmt::format("{}; cdi_spec_dirs = {}", spec.file, list(containerd->cdi_dirs)),
               "set cdi_spec_dirs = [\"/etc/cdi\", \"/var/run/cdi\"], then: systemctl restart containerd");
}

/// A program of a distribution's package gets its fixes as long as the distribution.
void version_eol(const Subject& s, Verdicts& out) {
  const auto& runtime = s.facts.runtime;
  const std::pair<std::string, std::string> programs[] = {
      {"containerd", runtime.containerd ? runtime.containerd->version : ""},
      {"runc", runtime.runc.value_or("")}};
  std::vector<std::string> maintained;
  for (const auto& [program, version] : programs) {
    if (const auto why = unread_evidence(program + " packages /etc/os-release", s.facts.unread)) {
      out.unknown(*why);
      continue;
    }
    if (version.empty()) continue;
    const Installed installed = installed_program(s.facts, program, version);
    const LineState line = state_of_line(s.data.lines.at(program), installed.version, s.data.today);
    if (!installed.release.empty())
      maintained.push_back(fmt::format("{}: package of {}", program, installed.release));
    else if (line.state == LineState::State::ended)
      out.fail(Severity::note, fmt::format("this version of {} no longer gets fixes", program),
               fmt::format("{} {}", program, line.text),
               fmt::format("upgrade {} to a line with fixes: gpuadm upgrade --runtime", program));
    else if (line.state == LineState::State::unknown)
      out.unknown(fmt::format("{} {}", program, line.text));
    else
      maintained.push_back(fmt::format("{} {}", program, line.text));
  }
  if (!out.silent()) return;
  if (maintained.empty()) return out.skip("neither containerd nor runc is installed");
  out.pass(list(maintained));
}

void crictl_config(const Subject& s, Verdicts& out) {
  if (!has(s.facts.software.tools, "crictl")) return out.skip("crictl is not installed");
  const std::string_view socket = spec::row_of(s.cluster.runtime.engine).socket;
  const std::string endpoint = s.facts.runtime.crictl_endpoint.value_or("");
  if (endpoint.ends_with(socket)) return out.pass(endpoint);
  out.fail(Severity::note,
           endpoint.empty() ? "crictl has no configured runtime"
                            : "crictl uses another runtime than the configured one",
           endpoint.empty() ? "/etc/crictl.yaml names no runtime-endpoint" : endpoint,
           fmt::format("crictl config --set runtime-endpoint=unix://{}", socket));
}

constexpr std::array runtime_settings_rows = std::to_array<Check>({
    {"rt.containerd.registry-config-path", "registry mirrors are set where containerd reads them",
     "containerd 2.4 does not read the old form, and both together disable the CRI",
     "containerd containerd-dump /etc/containerd/config.toml containerd-imports", preflight | node,
     registry_config},
    {"rt.containerd.imports-conflict", "containerd reads its drop-ins, and they agree",
     "the nvidia runtime is often defined in a drop-in",
     "containerd containerd-dump /etc/containerd/config.toml containerd-imports /etc/containerd/*",
     preflight | node, imports},
    {"rt.containerd.root-space", "there is enough space for large images", "GPU images are 10 to 20 GB each",
     "containerd containerd-dump /etc/containerd/config.toml containerd-imports disks pci", preflight | node,
     root_ns},
    {"rt.containerd.limits", "containerd's unit sets no low limits", "every container inherits them",
     "containerd containerd-dump /etc/containerd/config.toml containerd-imports units "
     "/proc/modules pci",
     preflight | node, limits},
    {"rt.containerd.enable-cdi", "containerd gives containers CDI devices",
     "containers cannot use CDI devices otherwise",
     "containerd containerd-dump /etc/containerd/config.toml containerd-imports", preflight | node,
     enable_cdi},
    {"rt.version-eol", "containerd and runc get fixes", "a discontinued version gets no security fixes",
     "containerd containerd-dump /etc/containerd/config.toml containerd-imports runc packages "
     "/etc/os-release",
     preflight | node, version_eol},
    {"rt.crictl.config", "crictl uses the configured runtime", "crictl is the tool for inspecting containers",
     "/etc/crictl.yaml tools", preflight | node, crictl_config},
});

}  // namespace

std::span<const Check> runtime_settings_checks() {
  return runtime_settings_rows;
}

}  // namespace checks
