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

void add_version(CdiSpec& spec, std::string_view path) {
  const auto at = path.find(".so.");
  if (at == std::string_view::npos) return;
  std::string version(path.substr(at + 4));
  // libcuda.so.1 is a link without a version.
  if (version.find('.') != std::string::npos &&
      std::ranges::find(spec.versions, version) == spec.versions.end())
    spec.versions.push_back(std::move(version));
}

void add_hook(CdiSpec& spec, const std::string& path) {
  if (path.starts_with('/') && !path.starts_with("/dev/") &&
      std::ranges::find(spec.hooks, path) == spec.hooks.end())
    spec.hooks.push_back(path);
}

/// The values of `"key": "VALUE"` in a text, which may be cut.
std::vector<std::string> values_of(std::string_view text, std::string_view key) {
  std::vector<std::string> found;
  const std::string word = "\"" + std::string(key) + "\"";
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::string_view rest = base::trim(text.substr(at + word.size()));
    if (!rest.starts_with(':')) continue;
    const std::string_view value = base::trim(rest.substr(1));
    const std::size_t end = value.find('"', 1);
    if (value.starts_with('"') && end != std::string_view::npos) found.emplace_back(value.substr(1, end - 1));
  }
  return found;
}

CdiSpec read_json_cdi(const std::string& file, const Section& section) {
  CdiSpec spec{.file = file};
  const std::string text = section.text();
  spec.partial = !base::trim(text).ends_with('}');
  for (const std::string& kind : values_of(text, "kind")) spec.kind = kind;
  for (const std::string& version : values_of(text, "cdiVersion")) spec.version = version;
  spec.devices = values_of(text, "name");
  for (const std::string& path : values_of(text, "path")) add_hook(spec, path);
  for (const std::string& path : values_of(text, "hostPath"))
    if (path.contains("/libcuda.so.") || path.contains("/libnvidia-ml.so.")) add_version(spec, path);
  return spec;
}

/// Relevant lines only: the probe omits the rest.
CdiSpec read_cdi(const std::string& file, const Section& section) {
  CdiSpec spec{.file = file};
  for (std::string_view line : section.lines) {
    if (line.starts_with("kind:")) spec.kind = unquoted(line.substr(5));
    if (line.starts_with("cdiVersion:")) spec.version = unquoted(line.substr(11));
    line = base::trim(line);
    if (line.starts_with("- ")) line = base::trim(line.substr(2));
    if (line.starts_with("name:")) spec.devices.push_back(unquoted(line.substr(5)));
    // The paths of device files are under /dev.
    if (line.starts_with("path:")) add_hook(spec, unquoted(line.substr(5)));
    if (line.starts_with("hostPath:")) add_version(spec, unquoted(line.substr(9)));
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
  for (const std::string_view folder : {"/etc/cdi/", "/run/cdi/"})
    sections.each(folder, ".json", [&](const std::string& name, const Section& section) {
      toolkit.cdi.push_back(read_json_cdi(name, section));
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
                       {"versions", Tree::list_of(c.versions)},
                       {"version", c.version},
                       {"hooks", Tree::list_of(c.hooks)},
                       {"partial", c.partial}});
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
