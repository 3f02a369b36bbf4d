#include "gpuadm/base/files.hpp"
#include "gpuadm/base/problems.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/bundle/bundle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace bundle {

namespace {

namespace fs = std::filesystem;
using base::Problems;
using base::Tree;
using Good = bool (*)(const std::string&);

const std::vector<std::pair<std::string, BundleKind>> kinds = {
    {"binary", BundleKind::binary},   {"runtime", BundleKind::runtime},       {"image", BundleKind::image},
    {"package", BundleKind::package}, {"repository", BundleKind::repository}, {"file", BundleKind::file}};

/// A key of the manifest, and its type.
struct Word {
  const char* key;
  Good good;
  const char* expected;
};

bool is_api(const std::string& text) {
  return text == "gpuadm/v1alpha1";
}
bool is_bundle(const std::string& text) {
  return text == "Bundle";
}
bool is_plain(const std::string& text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; });
}
bool is_relative(const std::string& text) {
  return base::is_inside(text);
}
bool is_absolute(const std::string& text) {
  return text.starts_with('/') && base::is_inside(std::string_view(text).substr(1));
}
bool is_mode(const std::string& text) {
  return (text.size() == 3 || (text.size() == 4 && text.front() == '0')) &&
         text.find_first_not_of("01234567") == std::string::npos;
}
bool is_sha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}
bool is_version(const std::string& text) {
  const auto version = base::Version::parse(text);
  return version && version->patch >= 0 && version->text() == text;
}
bool is_architecture(const std::string& text) {
  return text == "amd64" || text == "arm64";
}
bool is_size(const std::string& text) {
  const auto size = base::to_int(text);
  return size && *size >= 0;
}
bool is_kind(const std::string& text) {
  return std::ranges::find(kinds, text, &std::pair<std::string, BundleKind>::first) != kinds.end();
}

/// The value of a key as text; empty after a problem.
std::string read(const Tree& map, const Word& word, Problems& problems) {
  const Tree* value = map.find(word.key);
  if (!value || value->is_null()) {
    problems.add(map.mark, fmt::format("{}: missing", word.key));
    return {};
  }
  std::string text = value->text();
  if (value->is_scalar() && word.good(text)) return text;
  problems.add(value->mark,
               fmt::format("{}: expected {}, got '{}'", word.key, word.expected, base::printable(text, 100)));
  return {};
}

/// The keys of a kind of file besides `path`, `kind`, `sha256` and `size`: all required, except `optional`.
std::vector<std::string> keys_of(BundleKind kind) {
  switch (kind) {
    case BundleKind::binary:
    case BundleKind::runtime:
    case BundleKind::file:
      return {"target", "mode"};
    case BundleKind::image:
      return {"name"};
    case BundleKind::package:
      return {"os"};
    case BundleKind::repository:
      return {"name", "os"};
  }
  return {};
}

/// The number of bytes under `size`; nothing after a problem.
std::optional<std::uint64_t> read_size(const Tree& map, Problems& problems) {
  const std::string text = read(map, {"size", is_size, "number of bytes"}, problems);
  const auto size = base::to_int(text);
  return size ? std::optional(static_cast<std::uint64_t>(*size)) : std::nullopt;
}

std::vector<BundlePart> read_parts(const Tree& list, Problems& problems) {
  std::vector<BundlePart> parts;
  static const std::vector<std::string> known = {"sha256", "size"};
  if (list.items().size() < 2)
    problems.add(list.mark, "parts: expected list of manifest, configuration, layers");
  for (const Tree& item : list.items()) {
    if (!item.is_map()) {
      problems.add(item.mark, "parts[]: expected map with sha256 and size");
      continue;
    }
    problems.add_unknown_keys(item, "parts[].", known);
    const std::string sum = read(item, {"sha256", is_sha256, "64 hexadecimal digits"}, problems);
    parts.push_back({sum, read_size(item, problems).value_or(0)});
  }
  return parts;
}

BundleFile read_file_entry(const Tree& tree, Problems& problems) {
  BundleFile file;
  const std::string kind =
      read(tree, {"kind", is_kind, "binary | runtime | image | package | repository | file"}, problems);
  if (kind.empty()) return file;
  file.kind = std::ranges::find(kinds, kind, &std::pair<std::string, BundleKind>::first)->second;
  // Without a path of its own, it is the blob with its checksum, or the parts of an image.
  const bool own = tree.find("path") != nullptr;
  std::vector<std::string> keys = keys_of(file.kind);
  keys.insert(keys.begin(), {"kind", "sha256"});
  if (own) keys.insert(keys.begin(), "path");
  std::vector<std::string> known = keys;
  known.emplace_back("size");
  if (file.kind == BundleKind::package) known.emplace_back("name");
  if (file.kind == BundleKind::image && !own) known.emplace_back("parts");
  problems.add_unknown_keys(tree, "files[].", known);
  const std::pair<Word, std::string*> words[] = {
      {{"path", is_relative, "path below the bundle"}, &file.path},
      {{"sha256", is_sha256, "64 hexadecimal digits"}, &file.sha256},
      {{"target", is_absolute, "absolute path"}, &file.target},
      {{"mode", is_mode, "mode such as 0755"}, &file.mode},
      {{"name", is_plain, "image reference"}, &file.name},
      {{"os", is_plain, "operating system"}, &file.os}};
  for (const auto& [word, into] : words)
    if (std::ranges::find(keys, word.key) != keys.end() ||
        (word.key == std::string_view("name") && tree.find("name")))
      *into = read(tree, word, problems);
  if (!own || tree.find("size")) file.size = read_size(tree, problems);
  if (const Tree* parts = tree.find("parts"); parts && !own) file.parts = read_parts(*parts, problems);
  return file;
}

std::vector<std::string> read_absent(const Tree& list, Problems& problems) {
  std::vector<std::string> components;
  bool good = list.is_list() || list.is_null();
  for (const Tree& component : list.items()) {
    good = good && is_plain(component.text());
    components.push_back(component.text());
  }
  if (!good) problems.add(list.mark, "absent: expected list of components");
  return components;
}

void read_files(const Tree& list, Bundle& bundle, Problems& problems) {
  std::set<std::string> taken;
  for (const Tree& item : list.items()) {
    if (!item.is_map()) {
      problems.add(item.mark, "files[]: expected map with path, kind, sha256 …");
      continue;
    }
    const BundleFile file = read_file_entry(item, problems);
    const std::string name = file.name.empty() ? "" : fmt::format("{} {}", name_of(file.kind), file.name);
    for (const std::string& place : {file.path, file.target, name})
      if (!place.empty() && !taken.insert(place).second)
        problems.add(item.mark, fmt::format("{}: duplicate", place));
    bundle.files.push_back(file);
  }
}

std::string mode_of(const BundleFile& file) {
  return file.mode.size() == 3 ? "0" + file.mode : file.mode;
}

Tree tree_of(const BundleFile& file) {
  Tree tree = Tree::map_of({{"kind", name_of(file.kind)}});
  const std::pair<const char*, std::string> words[] = {{"path", file.path},
                                                       {"target", file.target},
                                                       {"mode", mode_of(file)},
                                                       {"name", file.name},
                                                       {"os", file.os}};
  for (const auto& [key, value] : words)
    if (!value.empty()) tree.set(key, value);
  tree.set("sha256", file.sha256);
  if (file.size) tree.set("size", *file.size);
  for (const BundlePart& part : file.parts)
    tree["parts"].push(Tree::map_of({{"sha256", part.sha256}, {"size", part.size}}));
  return tree;
}

}  // namespace

std::string_view name_of(BundleKind kind) {
  return std::ranges::find(kinds, kind, &std::pair<std::string, BundleKind>::second)->first;
}

Result<Bundle> parse_bundle(std::string_view yaml, std::string_view source) {
  const Tree tree = TRY(base::yaml::read(yaml, source));
  Bundle bundle;
  Problems problems(source);
  static const std::vector<std::string> known = {"apiVersion",   "kind",   "name", "kubernetes",
                                                 "architecture", "absent", "files"};
  problems.add_unknown_keys(tree, "", known);
  read(tree, {"apiVersion", is_api, "gpuadm/v1alpha1"}, problems);
  read(tree, {"kind", is_bundle, "Bundle"}, problems);
  bundle.name = read(tree, {"name", is_plain, "word"}, problems);
  bundle.kubernetes = read(tree, {"kubernetes", is_version, "version such as 1.36.2"}, problems);
  bundle.architecture = read(tree, {"architecture", is_architecture, "amd64 | arm64"}, problems);
  if (const Tree* absent = tree.find("absent")) bundle.absent = read_absent(*absent, problems);
  if (const Tree* files = tree.find("files"); files && files->is_list() && !files->items().empty())
    read_files(*files, bundle, problems);
  else
    problems.add(files ? files->mark : tree.mark, "files: expected list with at least one file");
  if (!problems.empty())
    return std::unexpected(problems.error("docs/reference/bundle.md describes the format"));
  return bundle;
}

std::string manifest_of(const Bundle& bundle) {
  Tree tree = Tree::map_of({{"apiVersion", "gpuadm/v1alpha1"},
                            {"kind", "Bundle"},
                            {"name", bundle.name},
                            {"kubernetes", bundle.kubernetes},
                            {"architecture", bundle.architecture},
                            {"absent", Tree::list_of(bundle.absent)},
                            {"files", Tree::list()}});
  for (const BundleFile& file : bundle.files) tree["files"].push(tree_of(file));
  return base::yaml::write(tree);
}

std::map<std::string, std::uint64_t> blobs_of(const Bundle& bundle) {
  std::map<std::string, std::uint64_t> blobs;
  for (const BundleFile& file : bundle.files) {
    if (!file.path.empty()) continue;
    if (file.parts.empty()) blobs.emplace(file.sha256, file.size.value_or(0));
    for (const BundlePart& part : file.parts) blobs.emplace(part.sha256, part.size);
  }
  return blobs;
}

}  // namespace bundle
