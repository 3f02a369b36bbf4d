#include "gpuadm/facts/from_tree.hpp"

#include "gpuadm/facts/families.hpp"

namespace facts {

namespace {

using base::Tree;
using Path = std::initializer_list<std::string_view>;

std::vector<std::string> texts_at(const Tree& tree, Path path) {
  std::vector<std::string> texts;
  if (const Tree* list = tree.at(path))
    for (const Tree& item : list->items()) texts.push_back(item.text());
  return texts;
}

Os read_os(const Tree& tree) {
  Os os{.id = text_at(tree, {"os", "id"}),
        .version_id = text_at(tree, {"os", "versionId"}),
        .codename = text_at(tree, {"os", "codename"}),
        .pretty = text_at(tree, {"os", "pretty"}),
        .parent_id = text_at(tree, {"os", "parentId"}),
        .parent_version_id = text_at(tree, {"os", "parentVersionId"}),
        .parent_codename = text_at(tree, {"os", "parentCodename"})};
  if (os.parent_id.empty()) {  // facts of an earlier version of gpuadm
    os.parent_id = os.id;
    os.parent_version_id = os.version_id;
    os.parent_codename = os.codename;
  }
  os.family = family_named(text_at(tree, {"os", "family"})).value_or(Family::other);
  os.architecture = text_at(tree, {"os", "architecture"});
  return os;
}

}  // namespace

Facts read_package_facts(const Tree& tree) {
  Facts facts;
  facts.os = read_os(tree);
  facts.kernel.release = text_at(tree, {"os", "kernel"});
  if (const Tree* gpus = tree.at({"nvidia", "pci"}))
    for (const Tree& gpu : gpus->items())
      facts.nvidia.pci_gpus.push_back({.slot = text_at(gpu, {"slot"}),
                                       .device_id = text_at(gpu, {"deviceId"}),
                                       .subsystem = text_at(gpu, {"subsystem"}),
                                       .pci_class = text_at(gpu, {"class"})});
  facts.nvidia.nvswitches = texts_at(tree, {"nvidia", "nvswitches"});
  facts.nvidia.nvlink_managers = texts_at(tree, {"nvidia", "nvlinkManagers"});
  if (const Tree* tools = tree.at({"software", "tools"}))
    for (const auto& [tool, path] : tools->entries()) facts.software.tool_paths.emplace(tool, path.text());
  if (const Tree* containerd = tree.at({"runtimes", "containerd"}); containerd && containerd->is_map())
    facts.runtime.containerd = Containerd{};
  return facts;
}

}  // namespace facts
