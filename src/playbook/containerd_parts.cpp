#include "gpuadm/base/text.hpp"
#include "gpuadm/base/toml.hpp"

#include "playbook/containerd.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

#include <algorithm>
#include <deque>
#include <filesystem>

namespace playbook {

namespace {

using base::Tree;

/// The imports of one part: a pattern matches existing files, anything else is a path (resolveImports of
/// containerd's cmd/containerd/server/config).
Result<std::vector<std::string>> imports_of(const ContainerdPart& part, const facts::Containerd& containerd,
                                            const std::string& host) {
  std::vector<std::string> paths;
  const Tree* imports = part.tree.find("imports");
  if (!imports) return paths;
  for (const Tree& item : imports->items()) {
    const std::string path =
        (std::filesystem::path(part.path).parent_path() / item.text()).lexically_normal();
    if (path.find('*') != std::string::npos) {
      for (const auto& [name, text] : containerd.drop_in_texts)
        if (fnmatch(path.c_str(), name.c_str(), FNM_PATHNAME) == 0) paths.push_back(name);
    } else if (containerd.drop_in_texts.contains(path)) {
      paths.push_back(path);
    } else {
      return base::fail(base::Fault::parse,
                        fmt::format("{}:{}:{}:{}: imports {}, which does not exist", host, part.path,
                                    item.mark.line, item.mark.column, base::printable(path, 200)),
                        "containerd does not start without it: create the file, or remove it from imports");
    }
  }
  return paths;
}

Result<ContainerdPart> part_of(const std::string& path, const std::optional<std::string>& text,
                               const std::string& host) {
  auto tree = base::toml::read(text.value_or(""), host + ":" + path);
  if (!tree)
    return base::fail(
        tree.error().fault, tree.error().what,
        "fix or move the file, then run again: gpuadm does not overwrite a file that it cannot read");
  return ContainerdPart{path, text, std::move(*tree), 1};
}

/// The newest configuration version that a containerd reads: since 1.6.32 and 1.7.17 it rejects a newer one
/// (containerd/containerd#10165); before, it misinterprets its keys. Version 4 is new in 2.3 (containerd's
/// RELEASES.md).
std::int64_t newest_version(const base::Version& engine) {
  if (engine < base::Version{2, 0, 0}) return 2;
  return engine < base::Version{2, 3, 0} ? 3 : 4;
}

/// The version in a file, or nothing.
Result<std::optional<std::int64_t>> version_of(const ContainerdPart& part, const base::Version& engine,
                                               const std::string& host) {
  const Tree* version = part.tree.find("version");
  if (!version) return std::nullopt;
  const std::string place =
      fmt::format("{}:{}:{}:{}", host, part.path, version->mark.line, version->mark.column);
  const std::string hint =
      fmt::format("write it for version {}; an example: containerd config default", newest_version(engine));
  const auto number = version->as_int();
  if (!version->is_int() || *number < 0)
    return base::fail(base::Fault::parse, fmt::format("{}: version must be a number", place), hint);
  if (*number > newest_version(engine))
    return base::fail(base::Fault::parse,
                      fmt::format("{}: version = {}, but containerd {} reads at most version {}", place,
                                  *number, engine.text(), newest_version(engine)),
                      hint);
  return std::max<std::int64_t>(*number, 1);
}

}  // namespace

ContainerdLayout containerd_layout(std::int64_t version) {
  const bool split = version >= 3;
  const std::string plugin = split          ? "io.containerd.cri.v1.runtime"
                             : version == 2 ? "io.containerd.grpc.v1.cri"
                                            : "cri";
  const Path cri = {"plugins", plugin};
  return {cri,
          cri / "containerd" / "runtimes",
          cri / "containerd" / "default_runtime_name",
          split ? Path{"plugins", "io.containerd.cri.v1.images", "pinned_images", "sandbox"}
                : cri / "sandbox_image",
          cri / "cni",
          split ? Path{"plugins", "io.containerd.cri.v1.images", "registry"} : cri / "registry"};
}

Result<std::vector<ContainerdPart>> containerd_parts(const facts::Containerd& containerd,
                                                     const std::string& host) {
  const base::Version engine = engine_version(containerd.version, {1, 6, 0});
  std::vector<ContainerdPart> parts;
  std::deque<std::string> pending = {containerd_config_path};
  while (!pending.empty()) {
    const std::string path = pending.front();
    pending.pop_front();
    if (std::ranges::find(parts, path, &ContainerdPart::path) != parts.end()) continue;
    const bool root = parts.empty();
    ContainerdPart part =
        TRY(part_of(path, root ? containerd.config : containerd.drop_in_texts.at(path), host));
    if (const auto version = TRY(version_of(part, engine, host)))
      part.version = *version;
    else if (!root && engine < base::Version{2, 0, 0})
      part.version = parts.front().version;  // up to 1.x one version applies to all
    if (!root && part.version > parts.front().version)
      return base::fail(base::Fault::parse,
                        fmt::format("{}:{}: version = {}, but {} has {}: containerd rejects a newer version "
                                    "in an imported file",
                                    host, path, part.version, containerd_config_path, parts.front().version),
                        fmt::format("rewrite {} for version {}, or move it", path, parts.front().version));
    for (std::string& import : TRY(imports_of(part, containerd, host))) pending.push_back(std::move(import));
    parts.push_back(std::move(part));
  }
  return parts;
}

bool merges_tables(const base::Version& engine) {
  return engine >= base::Version{2, 1, -1};
}

Tree effective_containerd(std::span<const ContainerdPart> parts, const base::Version& engine) {
  Tree all = Tree::map();
  for (const ContainerdPart& part : parts) {
    for (const auto& [key, value] : part.tree.entries()) {
      Tree* there = all.find(key);
      if (key == "imports" || (key == "version" && there)) continue;
      if (!there || value.is_scalar()) {
        all.set(key, value);
      } else if (value.is_list()) {
        for (const Tree& item : value.items())
          if (std::ranges::find(there->items(), item) == there->items().end()) there->push(item);
      } else if (key == "plugins" && !merges_tables(engine)) {
        for (const auto& [plugin, table] : value.entries()) there->set(plugin, table);
      } else {
        there->merge(value);
      }
    }
  }
  return all;
}

}  // namespace playbook
