#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/text/words.hpp"

#include <algorithm>

namespace facts {

namespace {

/// Calls `visit` with the links of a GPU and each line below "GPU 0: NVIDIA H200 (UUID: …)" that begins with
/// "Link 3: ", the number and the rest.
template <class Visit>
void each_link(const Section& section, Nvidia& nvidia, Visit visit) {
  Gpu* gpu = nullptr;
  for (const std::string_view raw : section.lines) {
    const std::string_view line = base::trim(raw);
    // "NVML: Unable to retrieve NVLink information as all links are inActive", in place of the links
    if (gpu && base::lower(line).find("all links are inactive") != std::string::npos) {
      if (!gpu->nvlinks) gpu->nvlinks.emplace();
      visit(*gpu->nvlinks, "all", "<inactive>");
      continue;
    }
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    if (line.starts_with("GPU ")) {
      const auto index = count(line.substr(4, colon - 4));
      const auto place = std::ranges::find_if(
          nvidia.gpus, [&](const Gpu& g) { return index && *index == static_cast<std::uint64_t>(g.index); });
      gpu = place == nvidia.gpus.end() ? nullptr : &*place;
    } else if (gpu && line.starts_with("Link ")) {
      if (!gpu->nvlinks) gpu->nvlinks.emplace();
      visit(*gpu->nvlinks, std::string(line.substr(5, colon - 5)), base::trim(line.substr(colon + 2)));
    }
  }
}

void read_links(const Sections& sections, Nvidia& nvidia) {
  if (const Section* status = sections.find("nvidia-smi-nvlink"))
    each_link(*status, nvidia, [](NvLinks& links, std::string number, std::string_view message) {
      if (message == "<inactive>")
        links.inactive.push_back(std::move(number));
      else if (number != "all")
        ++links.active;
    });
  if (const Section* errors = sections.find("nvidia-smi-nvlink-errors"))
    each_link(*errors, nvidia, [](NvLinks& links, const std::string& number, std::string_view message) {
      const std::size_t at = message.find(" Errors: ");
      if (at == std::string_view::npos) return;
      if (const auto seen = count(message.substr(at + 9)); seen && *seen > 0)
        links.errors["link " + number + ": " + std::string(message.substr(0, at))] = *seen;
    });
}

/// The matrix of `nvidia-smi topo -m`: a row "GPU0<tab> X <tab>NV18<tab>…", the GPUs first.
void read_topology(const Sections& sections, Nvidia& nvidia) {
  for (const std::string_view line : sections.lines("nvidia-smi-topology")) {
    const auto cells = base::split(line, '\t');
    if (!cells[0].starts_with("GPU")) continue;
    const auto index = count(cells[0].substr(3));
    if (!index || cells.size() <= nvidia.gpus.size()) continue;
    for (Gpu& gpu : nvidia.gpus)
      if (static_cast<std::uint64_t>(gpu.index) == *index)
        for (std::size_t i = 1; i <= nvidia.gpus.size(); ++i)
          gpu.paths_to.push_back(base::printable(base::trim(cells[i]), 20));
  }
}

}  // namespace

void read_fabric(const Sections& sections, Facts& facts) {
  read_links(sections, facts.nvidia);
  read_topology(sections, facts.nvidia);
  FabricManager& manager = facts.nvidia.fabric_manager;
  // "Fabric Manager version is : 580.95.05"
  if (const Section* version = sections.find("fabricmanager")) manager.version = version_in(version->first());
  if (const Section* log = sections.find("fabricmanager-log")) {
    manager.log.emplace();
    for (const std::string_view line : log->lines) manager.log->push_back(base::printable(line, 400));
  }
  if (const auto config = sections.text("/usr/share/nvidia/nvswitch/fabricmanager.cfg"))
    manager.config = assignments(*config);
  for (const std::string_view line : sections.lines("nvlink-managers"))
    facts.nvidia.nvlink_managers.emplace_back(line);
}

}  // namespace facts
