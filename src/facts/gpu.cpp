#include "gpuadm/base/text.hpp"
#include "gpuadm/base/version.hpp"

#include "facts/read.hpp"
#include "facts/words.hpp"
#include "facts/xml.hpp"

#include <algorithm>

namespace facts {

namespace {

void read_pci(const Sections& sections, Facts& facts) {
  for (const std::string_view line : sections.lines("pci")) {
    const auto words = base::words(line);
    auto values = pairs(line);
    const std::string kind = values["class"].substr(0, 4);
    const auto numa = count(values["numa"]);
    const auto node =
        numa ? std::optional(static_cast<int>(std::min<std::uint64_t>(*numa, 1024))) : std::nullopt;
    if (!words.empty() && values["vendor"] == "15b3" && kind.starts_with("02"))
      facts.pci_nics.push_back({slot_of(words[0]), kind, values["driver"], values["place"], node});
    if (words.empty() || values["vendor"] != "10de" || (kind != "0300" && kind != "0302")) continue;
    facts.pci_gpus.push_back({.slot = slot_of(words[0]),
                              .device_id = base::lower(values["device"]),
                              .subsystem = base::lower(values["subsystem"]),
                              .pci_class = kind,
                              .driver = values["driver"],
                              .iommu = values["iommu"],
                              .place = values["place"],
                              .numa = node});
  }
}

/// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build …": the first word
/// with a dot that begins with a digit.
void read_module(const Sections& sections, Facts& facts) {
  const auto line = sections.first("/proc/driver/nvidia/version");
  const std::string text = line.value_or("");
  const auto version = sections.first("/sys/module/nvidia/version");
  if (line || version) {
    Driver driver{.version = version.value_or("")};
    for (const std::string_view word : base::words(text))
      if (driver.version.empty() && word.find('.') != std::string_view::npos && version_in(word))
        driver.version = word;
    if (line) driver.open_modules = text.find("Open Kernel Module") != std::string::npos;
    facts.driver = std::move(driver);
  }
  if (const Section* installed = sections.find("nvidia-module"); installed && installed->status == 0)
    facts.driver_installed = known(installed->first());
}

/// The version is at the end of the file's name. Of several, the one that fits the loaded module is the one
/// in force; where none fits, the newest.
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

void read_files(const Sections& sections, Facts& facts) {
  for (const std::string_view line : sections.lines("gpu-libraries"))
    facts.driver_libraries.emplace_back(line);
  for (const auto& [path, kind] : facts.paths)
    if (path.starts_with("/dev/nvidia") && kind == "device") facts.device_nodes.push_back(path);
  const auto look = [&](const std::string&, const Section& section) {
    for (const std::string_view line : section.lines) {
      const auto words = base::words(line);
      if (words.size() > 1 && words[0] == "blacklist" && words[1] == "nouveau")
        facts.nouveau_blacklisted = true;
    }
  };
  sections.each("/etc/modprobe.d/", ".conf", look);
  sections.each("/usr/lib/modprobe.d/", ".conf", look);
}

/// "GPU 0: NVIDIA H200 (UUID: GPU-0011…)"; lines of MIG devices are indented.
void read_list(const Section& list, Facts& facts) {
  for (const std::string_view line : list.lines) {
    const std::size_t colon = line.find(": "), uuid = line.rfind(" (UUID: ");
    if (!line.starts_with("GPU ") || colon == std::string_view::npos || uuid == std::string_view::npos ||
        uuid < colon)
      continue;
    const auto index = count(line.substr(4, colon - 4));
    if (!index || *index > 1023) continue;
    Gpu gpu{.index = static_cast<int>(*index)};
    gpu.name = std::string(line.substr(colon + 2, uuid - colon - 2));
    gpu.uuid = std::string(line.substr(uuid + 8, line.find(')', uuid) - uuid - 8));
    facts.gpus.push_back(std::move(gpu));
  }
}

std::optional<std::string> at(const Element& element, std::initializer_list<std::string_view> path) {
  const auto text = element.at(path);
  return text ? known(*text) : std::nullopt;
}

void read_details(const Section& section, Facts& facts) {
  const auto log = read_xml(section.text());
  if (!log || log->name != "nvidia_smi_log") return;
  // A container may show no /proc/driver/nvidia although nvidia-smi works in it.
  const auto version = at(*log, {"driver_version"});
  if (!facts.driver && version) facts.driver = Driver{.version = *version};
  if (facts.driver) facts.driver->cuda = at(*log, {"cuda_version"});
  for (const Element& element : log->children) {
    if (element.name != "gpu") continue;
    const auto uuid = at(element, {"uuid"});
    const auto gpu =
        std::find_if(facts.gpus.begin(), facts.gpus.end(), [&](const Gpu& g) { return g.uuid == uuid; });
    if (gpu == facts.gpus.end()) continue;
    gpu->bus_id = slot_of(at(element, {"pci", "pci_bus_id"}).value_or(""));
    gpu->architecture = at(element, {"product_architecture"});
    gpu->persistence = at(element, {"persistence_mode"});
    gpu->mig = at(element, {"mig_mode", "current_mig"});
    gpu->mig_pending = at(element, {"mig_mode", "pending_mig"});
    gpu->compute_mode = at(element, {"compute_mode"});
    gpu->recovery_action = at(element, {"gpu_recovery_action"});
    if (const auto memory = at(element, {"fb_memory_usage", "total"}))
      gpu->memory_mib = count(memory->substr(0, memory->find(' ')));
  }
}

/// CSV with a header; values of these fields have no commas.
void read_fields(const Section& section, Facts& facts) {
  if (section.lines.empty()) return;
  const auto header = base::split(section.lines.front(), ',');
  for (std::size_t row = 1; row < section.lines.size(); ++row) {
    const auto cells = base::split(section.lines[row], ',');
    std::map<std::string_view, std::string_view> values;
    for (std::size_t i = 0; i < std::min(cells.size(), header.size()); ++i)
      values[base::trim(header[i])] = base::trim(cells[i]);
    for (Gpu& gpu : facts.gpus)
      if (gpu.uuid == values["uuid"]) gpu.compute_capability = known(values["compute_cap"]);
  }
}

void read_smi(const Sections& sections, Facts& facts) {
  const Section* smi = sections.find("nvidia-smi");
  if (!smi) return;
  // Output without a status was cut: the program went on and on.
  facts.nvidia_smi_status = smi->status.value_or(255);
  if (*facts.nvidia_smi_status != 0) {
    facts.nvidia_smi_says = base::printable(smi->first(), 300);
    return;
  }
  read_list(*smi, facts);
  if (const Section* details = sections.find("nvidia-smi-xml")) read_details(*details, facts);
  if (const Section* fields = sections.find("nvidia-smi-fields")) read_fields(*fields, facts);
}

}  // namespace

void read_gpus(const Sections& sections, Facts& facts) {
  read_pci(sections, facts);
  read_module(sections, facts);
  read_files(sections, facts);
  read_smi(sections, facts);
  if (facts.driver) facts.driver->library = library_version(facts.driver_libraries, facts.driver->version);
}

}  // namespace facts
