#include "gpuadm/base/text.hpp"
#include "gpuadm/base/version.hpp"

#include "facts/gpu/mig.hpp"
#include "facts/read.hpp"
#include "facts/text/words.hpp"
#include "facts/text/xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace facts {

namespace {

void read_pci(const Sections& sections, Nvidia& nvidia) {
  for (const std::string_view line : sections.lines("pci")) {
    const auto words = base::words(line);
    auto values = pairs(line);
    const std::string kind = values["class"].substr(0, 4);
    if (words.empty() || values["vendor"] != "10de") continue;
    const std::string device = base::lower(values["device"]);
    if (kind == "0680" && (device == "1af1" || device == "22a3"))
      nvidia.nvswitches.push_back(slot_of(words[0]));
    if (kind != "0300" && kind != "0302") continue;
    PciGpu gpu{.slot = slot_of(words[0]),
               .device_id = device,
               .subsystem = base::lower(values["subsystem"]),
               .pci_class = kind,
               .driver = values["driver"],
               .iommu = values["iommu"],
               .place = values["place"],
               .numa = numa_node(values["numa"])};
    const auto errors = base::split(values["aer"], ':');
    if (errors.size() == 3)
      if (const auto fatal = count(errors[2]))
        gpu.aer = PciGpu::Aer{count(errors[0]).value_or(0), count(errors[1]).value_or(0), *fatal};
    nvidia.pci_gpus.push_back(std::move(gpu));
  }
}

/// As the kernel compares them: "nova-core" is "nova_core".
std::string module_name(std::string_view name) {
  return base::replace_all(std::string(name), "-", "_");
}

/// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build …": the first word
/// with a dot that begins with a digit.
void read_module(const Sections& sections, Nvidia& nvidia) {
  const auto line = sections.first("/proc/driver/nvidia/version");
  const std::string text = line.value_or("");
  const auto version = sections.first("/sys/module/nvidia/version");
  if (line || version) {
    Driver driver{.version = version.value_or("")};
    for (const std::string_view word : base::words(text))
      if (driver.version.empty() && word.find('.') != std::string_view::npos && version_in(word))
        driver.version = word;
    if (line) driver.open_modules = text.find("Open Kernel Module") != std::string::npos;
    nvidia.driver = std::move(driver);
  }
  if (const Section* installed = sections.find("nvidia-module"); installed && installed->status == 0)
    nvidia.driver_installed = known(installed->first());
}

/// The version is at the end of the file's name. Of several, the one that matches the loaded module is used;
/// otherwise the newest.
std::optional<std::string> library_version(const std::vector<std::string>& paths, const std::string& loaded) {
  std::optional<std::string> best;
  for (const std::string& path : paths) {
    static constexpr std::string_view stem = "libnvidia-ml.so.";
    const std::size_t at = path.rfind(stem);
    if (at == std::string::npos) continue;
    const std::string version = path.substr(at + stem.size());
    if (version.find('.') == std::string::npos) continue;
    if (version == loaded) return version;
    if (!best || base::Version::parse(*best) < base::Version::parse(version)) best = version;
  }
  return best;
}

/// "ROOT NVIDIA-SMI LIBRARY [no-devices]"; each root once.
void read_driver_roots(const Sections& sections, Nvidia& nvidia) {
  if (!sections.find("driver-roots")) return;
  auto& roots = nvidia.driver_roots.emplace();
  const auto path = [](std::string_view word) { return word == "-" ? std::string() : std::string(word); };
  for (const std::string_view line : sections.lines("driver-roots")) {
    const auto words = base::words(line);
    if (words.size() >= 3 && words[0].starts_with('/') &&
        std::ranges::find(roots, words[0], &DriverRoot::path) == roots.end())
      roots.push_back({std::string(words[0]), path(words[1]), path(words[2]),
                       words.size() > 3 && words[3] == "no-devices"});
  }
}

void read_files(const Sections& sections, Facts& facts) {
  read_driver_roots(sections, facts.nvidia);
  for (const std::string_view line : sections.lines("gpu-libraries"))
    facts.nvidia.libraries.emplace_back(line);
  for (const auto& [path, kind] : facts.software.paths)
    if (path.starts_with("/dev/nvidia") && kind == "device") facts.nvidia.device_nodes.push_back(path);
  const auto read = [&](const std::string&, const Section& section) {
    for (const std::string_view line : section.lines) {
      const auto words = base::words(line);
      if (words.size() > 1 && words[0] == "blacklist") facts.nvidia.blacklisted.insert(module_name(words[1]));
    }
  };
  for (const std::string_view line : sections.lines("gpu-libraries-dangling"))
    facts.nvidia.dangling_libraries.emplace_back(line);
  if (sections.find("dev-char")) {
    facts.nvidia.dev_char.emplace();
    for (const std::string_view line : sections.lines("dev-char")) facts.nvidia.dev_char->emplace_back(line);
  }
  sections.each("/etc/ld.so.conf.d/", ".conf", [&](const std::string& name, const Section& section) {
    for (const std::string_view line : section.lines)
      facts.nvidia.linker_folders.emplace(base::trim(line), name);
  });
  if (const Section* gcc = sections.find("gcc"); gcc && gcc->status == 0)
    facts.nvidia.gcc = known(gcc->first());
  for (const std::string_view line : sections.lines("driver-build-log"))
    facts.nvidia.build_log.emplace_back(line);
  sections.each("/etc/modprobe.d/", ".conf", read);
  sections.each("/usr/lib/modprobe.d/", ".conf", read);
}

/// "GPU 0: NVIDIA H200 (UUID: GPU-0011…)"; lines of MIG devices are indented.
void read_list(const Section& list, Nvidia& nvidia) {
  for (const std::string_view line : list.lines) {
    const std::size_t colon = line.find(": "), uuid = line.rfind(" (UUID: ");
    if (line.starts_with("WARNING")) nvidia.smi_warnings.emplace_back(base::printable(line, 300));
    if (auto instance = mig_instance_in(line);
        instance && !nvidia.gpus.empty() && nvidia.gpus.back().instances.size() < most_instances)
      nvidia.gpus.back().instances.push_back(std::move(*instance));
    if (!line.starts_with("GPU ") || colon == std::string_view::npos || uuid == std::string_view::npos ||
        uuid < colon)
      continue;
    const auto index = count(line.substr(4, colon - 4));
    if (!index || *index > 1023) continue;
    Gpu gpu{.index = static_cast<int>(*index)};
    if (uuid > colon + 1) gpu.name = std::string(base::trim(line.substr(colon + 2, uuid - colon - 2)));
    gpu.uuid = std::string(line.substr(uuid + 8, line.find(')', uuid) - uuid - 8));
    nvidia.gpus.push_back(std::move(gpu));
  }
}

std::optional<std::string> at(const Element& element, std::initializer_list<std::string_view> path) {
  const auto text = element.at(path);
  return text ? known(*text) : std::nullopt;
}

/// "143771 MiB"
std::optional<std::uint64_t> mib_in(const std::optional<std::string>& text) {
  return text ? count(text->substr(0, text->find(' '))) : std::nullopt;
}

/// Older drivers have other names for some of the readings.
std::string reading_name(std::string path) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> renamed = {{
      {"clocks_throttle_reasons/clocks_throttle_reason_", "clocks_event_reasons/clocks_event_reason_"},
      {"power_readings/power_limit", "gpu_power_readings/current_power_limit"},
      {"power_readings/", "gpu_power_readings/"},
  }};
  for (const auto& [old, name] : renamed)
    if (path.starts_with(old)) return std::string(name) + path.substr(old.size());
  return path;
}

void read_leaves(const Element& element, const std::string& path, std::map<std::string, std::string>& into) {
  for (const Element& child : element.children) read_leaves(child, path + "/" + child.name, into);
  if (!element.children.empty() || into.size() > 500) return;
  // "Unknown Error" and similar are kept: such a reading is not the same as a missing one.
  if (!is_absent(element.text))
    into.emplace(reading_name(path), base::printable(base::trim(element.text), 200));
}

/// Only readings that checks use; lists of supported clocks and pages would be long.
constexpr std::array<std::string_view, 26> groups = {"serial",
                                                     "minor_number",
                                                     "display_active",
                                                     "vbios_version",
                                                     "performance_state",
                                                     "fan_speed",
                                                     "gsp_firmware_version",
                                                     "gpu_virtualization_mode",
                                                     "vgpu_software_licensed_product",
                                                     "pci",
                                                     "utilization",
                                                     "fb_memory_usage",
                                                     "bar1_memory_usage",
                                                     "cc_protected_memory_usage",
                                                     "clocks_event_reasons",
                                                     "clocks_throttle_reasons",
                                                     "ecc_mode",
                                                     "ecc_errors",
                                                     "retired_pages",
                                                     "remapped_rows",
                                                     "temperature",
                                                     "gpu_power_readings",
                                                     "power_readings",
                                                     "clocks",
                                                     "max_clocks",
                                                     "fabric"};

/// The memory of the instances that nvidia-smi -L lists.
void read_instances(const Element& devices, Gpu& gpu) {
  gpu.mig_devices = static_cast<int>(std::ranges::count(devices.children, "mig_device", &Element::name));
  for (const Element& device : devices.children) {
    const auto index = count(at(device, {"index"}).value_or(""));
    for (MigInstance& instance : gpu.instances) {
      if (!index || static_cast<std::uint64_t>(instance.index) != *index) continue;
      instance.total_mib = mib_in(at(device, {"fb_memory_usage", "total"}));
      instance.used_mib = mib_in(at(device, {"fb_memory_usage", "used"}));
    }
  }
}

void read_details_of(const Element& element, Gpu& gpu) {
  for (const Element& child : element.children) {
    if (std::ranges::find(groups, child.name) != groups.end()) read_leaves(child, child.name, gpu.readings);
    if (child.name == "mig_devices") read_instances(child, gpu);
    if (child.name != "processes" || child.children.size() > 1000) continue;
    for (const Element& process : child.children)
      gpu.processes.push_back({at(process, {"pid"}).value_or(""), at(process, {"type"}).value_or(""),
                               base::printable(at(process, {"process_name"}).value_or(""), 200),
                               mib_in(at(process, {"used_memory"}))});
  }
}

void read_details(const Section& section, Facts& facts) {
  constexpr const char* section_name = "nvidia-smi-xml";
  std::vector<const Gpu*> described;
  const auto log = read_xml(section.text());
  if (!log || log->name != "nvidia_smi_log") {
    facts.unread.emplace(section_name, "invalid XML");
    return;
  }
  // A container may show no /proc/driver/nvidia although nvidia-smi works in it.
  const auto version = at(*log, {"driver_version"});
  if (!facts.nvidia.driver && version) facts.nvidia.driver = Driver{.version = *version};
  if (facts.nvidia.driver) facts.nvidia.driver->cuda = at(*log, {"cuda_version"});
  for (const Element& element : log->children) {
    if (element.name != "gpu") continue;
    const auto uuid = at(element, {"uuid"});
    const auto gpu = std::find_if(facts.nvidia.gpus.begin(), facts.nvidia.gpus.end(),
                                  [&](const Gpu& g) { return g.uuid == uuid; });
    if (gpu == facts.nvidia.gpus.end()) continue;
    described.push_back(&*gpu);
    read_details_of(element, *gpu);
    gpu->bus_id = slot_of(at(element, {"pci", "pci_bus_id"}).value_or(""));
    gpu->architecture = at(element, {"product_architecture"});
    gpu->persistence = at(element, {"persistence_mode"});
    gpu->mig = at(element, {"mig_mode", "current_mig"});
    gpu->mig_pending = at(element, {"mig_mode", "pending_mig"});
    gpu->compute_mode = at(element, {"compute_mode"});
    gpu->recovery_action = at(element, {"gpu_recovery_action"});
    gpu->memory_mib = mib_in(at(element, {"fb_memory_usage", "total"}));
  }
  for (const Gpu& gpu : facts.nvidia.gpus)
    if (std::ranges::find(described, &gpu) == described.end())
      facts.unread.emplace(section_name, fmt::format("GPU {} is missing in it", gpu.index));
}

/// CSV with a header; values of these fields have no commas.
void read_fields(const Section& section, Nvidia& nvidia) {
  if (section.lines.empty()) return;
  const auto header = base::split(section.lines.front(), ',');
  for (std::size_t row = 1; row < section.lines.size(); ++row) {
    const auto cells = base::split(section.lines[row], ',');
    std::map<std::string_view, std::string_view> values;
    for (std::size_t i = 0; i < std::min(cells.size(), header.size()); ++i)
      values[base::trim(header[i])] = base::trim(cells[i]);
    for (Gpu& gpu : nvidia.gpus)
      if (gpu.uuid == values["uuid"]) {
        gpu.compute_capability = known(values["compute_cap"]);
        gpu.inforom_checksum = known(values["inforom.checksum_validation"]);
      }
  }
}

/// The line with which nvidia-smi ended: the last one that names an error, otherwise the last one that is no
/// row of its list.
std::string last_line_of(const Section& smi) {
  static constexpr std::array<std::string_view, 10> signs = {
      "unable",    "fail",     "error",        "mismatch", "no devices",
      "not found", "couldn't", "insufficient", "lost",     "invalid"};
  std::string last;
  for (const std::string_view line : smi.lines) {
    const std::string low = base::lower(line);
    const bool row = line.starts_with("GPU ") && low.find("(uuid: ") != std::string::npos;
    if (row || base::trim(line).empty() || base::trim(line).starts_with("MIG ")) continue;
    const auto names = [&](std::string_view text) {
      const std::string lowered = base::lower(text);
      return std::ranges::any_of(signs, [&](std::string_view sign) { return lowered.contains(sign); });
    };
    if (last.empty() || names(line) || !names(last)) last = line;
  }
  return base::printable(last.empty() ? std::string(smi.first()) : last, 300);
}

void read_smi(const Sections& sections, Facts& facts) {
  const Section* smi = sections.find("nvidia-smi");
  if (!smi) return;
  // Output without a status was truncated: the program did not end.
  facts.nvidia.smi_status = smi->status.value_or(255);
  if (const auto times = base::words(sections.lines("nvidia-smi-uptime").empty()
                                         ? std::string_view()
                                         : sections.lines("nvidia-smi-uptime").front());
      times.size() == 2)
    if (const auto began = base::to_real(times[0]), ended = base::to_real(times[1]); began && ended)
      facts.nvidia.smi_seconds = *ended - *began;
  if (*facts.nvidia.smi_status != 0) {
    facts.nvidia.smi_message = last_line_of(*smi);
    return;
  }
  read_list(*smi, facts.nvidia);
  if (const Section* details = sections.find("nvidia-smi-xml")) read_details(*details, facts);
  if (const Section* fields = sections.find("nvidia-smi-fields")) read_fields(*fields, facts.nvidia);
}

}  // namespace

const DriverRoot* driver_root_of(const Nvidia& nvidia) {
  if (!nvidia.driver_roots) return nullptr;
  const auto place = std::ranges::find_if(*nvidia.driver_roots, &DriverRoot::is_complete);
  return place == nvidia.driver_roots->end() ? nullptr : &*place;
}

void read_gpus(const Sections& sections, Facts& facts) {
  read_pci(sections, facts.nvidia);
  read_module(sections, facts.nvidia);
  read_files(sections, facts);
  read_smi(sections, facts);
  for (const std::string_view line : sections.lines("/etc/gpuadm/quarantine"))
    if (auto entry = quarantined_in(line)) facts.nvidia.quarantine.push_back(std::move(*entry));
  if (facts.nvidia.driver)
    facts.nvidia.driver->library = library_version(facts.nvidia.libraries, facts.nvidia.driver->version);
}

bool has_mig(const Nvidia& nvidia) {
  return std::ranges::any_of(nvidia.gpus, [](const Gpu& gpu) { return gpu.mig == "Enabled"; });
}

std::vector<std::string> models_of(const Nvidia& nvidia) {
  std::vector<std::string> names;
  for (const Gpu& gpu : nvidia.gpus) names.push_back(gpu.name);
  return names;
}

}  // namespace facts
