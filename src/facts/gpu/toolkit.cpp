#include "gpuadm/base/text.hpp"
#include "gpuadm/base/toml.hpp"

#include "facts/read.hpp"
#include "facts/text/words.hpp"
#include "facts/tree/tree.hpp"

#include <algorithm>

namespace facts {

namespace {

std::string unquoted(std::string_view text) {
  text = base::trim(text);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return std::string(text);
}

/// Relevant lines only: the probe omits the rest.
CdiSpec read_cdi(const std::string& file, const Section& section) {
  CdiSpec spec{.file = file, .kind = {}, .devices = {}, .versions = {}};
  for (std::string_view line : section.lines) {
    if (line.starts_with("kind:")) spec.kind = unquoted(line.substr(5));
    line = base::trim(line);
    if (line.starts_with("- ")) line = base::trim(line.substr(2));
    if (line.starts_with("name:")) spec.devices.push_back(unquoted(line.substr(5)));
    if (const auto at = line.find(".so."); line.starts_with("hostPath:") && at != std::string_view::npos) {
      std::string version = unquoted(line.substr(at + 4));
      // libcuda.so.1 is a link without a version.
      if (version.find('.') != std::string::npos &&
          std::ranges::find(spec.versions, version) == spec.versions.end())
        spec.versions.push_back(std::move(version));
    }
  }
  return spec;
}

}  // namespace

void read_toolkit(const Sections& sections, Facts& facts) {
  Toolkit& toolkit = facts.nvidia.toolkit;
  constexpr std::string_view file = "/etc/nvidia-container-runtime/config.toml";
  if (const auto text = sections.text(file)) {
    auto config = base::toml::read(*text, file);
    if (config)
      toolkit.config = std::move(*config);
    else
      toolkit.config_error = config.error().what;
  }
  if (const auto line = sections.first("nvidia-ctk")) facts.nvidia.ctk = version_in(*line);
  if (const Section* cli = sections.find("nvidia-container-cli")) {
    toolkit.cli_status = cli->status;
    if (cli->status != 0) toolkit.cli_message = base::tail(cli->text(), 2);
  }
  for (const std::string_view folder : {"/etc/cdi/", "/run/cdi/"})
    sections.each(folder, ".yaml", [&](const std::string& name, const Section& section) {
      toolkit.cdi.push_back(read_cdi(name, section));
    });
  // "system_u:object_r:xserver_misc_device_t:s0 /dev/nvidia0"
  const std::string label = sections.first("device-label").value_or("");
  if (const auto parts = base::split(label, ':'); parts.size() > 2)
    facts.nvidia.device_label = std::string(parts[2]);
}

namespace {

Tree cdi(const CdiSpec& c) {
  return Tree::map_of({{"file", c.file},
                       {"kind", c.kind},
                       {"devices", Tree::list_of(c.devices)},
                       {"versions", Tree::list_of(c.versions)}});
}

}  // namespace

Tree toolkit_tree(const Toolkit& t) {
  return Tree::map_of({{"config", tree_of(t.config)},
                       {"configError", t.config_error},
                       {"cliStatus", tree_of(t.cli_status)},
                       {"cliSays", t.cli_message},
                       {"cdi", list_of(t.cdi, cdi)}});
}

}  // namespace facts
