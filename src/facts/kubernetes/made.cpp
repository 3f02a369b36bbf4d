#include "gpuadm/facts/made.hpp"

#include "gpuadm/base/yaml.hpp"
#include "gpuadm/facts/sections.hpp"

namespace facts {

namespace {

/// The map in a section; null if it is missing.
base::Tree map_in(const Sections& sections, std::string_view name, Made& made) {
  const Section* section = sections.find(name);
  if (!section || section->status.value_or(1) != 0 || section->lines.empty()) return {};
  auto tree = base::yaml::read(section->text(), name, base::yaml::Dialect::kubernetes);
  if (tree && tree->is_map() && !section->cut) return std::move(*tree);
  made.damaged.push_back(section->cut ? std::string(name) + ": longer than is read"
                         : tree       ? std::string(name) + ": no map"
                                      : tree.error().what);
  return {};
}

}  // namespace

base::Result<Made> parse_made(std::string_view output) {
  const Sections sections = TRY(Sections::split(output));
  Made made;
  if (const Section* intent = sections.find("intent"); intent && intent->status == 0)
    made.intent = intent->text();
  made.cluster_configuration = map_in(sections, "kubeadm-config", made);
  made.kube_proxy = map_in(sections, "kube-proxy", made);
  sections.each("flags/", "", [&](const std::string& name, const Section& section) {
    auto& flags = made.flags[name.substr(name.find('/') + 1)];
    for (const std::string_view line : section.lines) {
      const std::size_t equals = line.find('=');
      if (line.starts_with("--") && equals != std::string_view::npos)
        flags.insert_or_assign(std::string(line.substr(2, equals - 2)), std::string(line.substr(equals + 1)));
    }
  });
  return made;
}

}  // namespace facts
