#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/problems.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/base/yaml.hpp"

#include "assets/inside.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace assets {

namespace {

namespace fs = std::filesystem;
using base::Problems;
using base::Tree;
using Good = bool (*)(const std::string&);

const std::vector<std::pair<std::string, BundleKind>> kinds = {{"binary", BundleKind::binary},
                                                               {"image", BundleKind::image},
                                                               {"package", BundleKind::package},
                                                               {"file", BundleKind::file}};

/// A key of the manifest, and what its value must be.
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
  return is_inside(text);
}
bool is_absolute(const std::string& text) {
  return text.starts_with('/') && is_inside(std::string_view(text).substr(1));
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

/// Which further keys a kind of file has: all required, no others allowed.
std::vector<std::string> keys_of(BundleKind kind) {
  switch (kind) {
    case BundleKind::binary:
    case BundleKind::file:
      return {"path", "kind", "sha256", "target", "mode"};
    case BundleKind::image:
      return {"path", "kind", "sha256", "name"};
    case BundleKind::package:
      return {"path", "kind", "sha256", "os"};
  }
  return {};
}

BundleFile read_file_entry(const Tree& tree, Problems& problems) {
  BundleFile file;
  const std::string kind = read(tree, {"kind", is_kind, "binary | image | package | file"}, problems);
  if (kind.empty()) return file;
  file.kind = std::ranges::find(kinds, kind, &std::pair<std::string, BundleKind>::first)->second;
  const std::vector<std::string> keys = keys_of(file.kind);
  problems.add_unknown_keys(tree, "files[].", keys);
  const std::pair<Word, std::string*> words[] = {
      {{"path", is_relative, "path below the bundle"}, &file.path},
      {{"sha256", is_sha256, "64 hexadecimal digits"}, &file.sha256},
      {{"target", is_absolute, "absolute path"}, &file.target},
      {{"mode", is_mode, "mode such as 0755"}, &file.mode},
      {{"name", is_plain, "image reference"}, &file.name},
      {{"os", is_plain, "family of operating systems"}, &file.os}};
  for (const auto& [word, into] : words)
    if (std::ranges::find(keys, word.key) != keys.end()) *into = read(tree, word, problems);
  return file;
}

/// The file's place, symbolic links followed; nothing, and a problem, where that is not a file below the
/// bundle.
std::optional<fs::path> locate(const fs::path& bundle, const BundleFile& file, base::Mark mark,
                               Problems& problems) {
  std::error_code error;
  const fs::path place = fs::canonical(bundle / file.path, error);
  if (error) {
    problems.add(mark, fmt::format("{}: {}", file.path, error.message()));
    return std::nullopt;
  }
  const fs::path relative = place.lexically_relative(bundle);
  if (relative.empty() || *relative.begin() == "..") {
    problems.add(mark, fmt::format("{}: leads out of the bundle, to {}", file.path, place.string()));
    return std::nullopt;
  }
  if (fs::is_regular_file(place, error)) return place;
  problems.add(mark, fmt::format("{}: not a regular file", file.path));
  return std::nullopt;
}

void verify(const fs::path& bundle, const BundleFile& file, base::Mark mark, Problems& problems) {
  const auto place = locate(bundle, file, mark, problems);
  if (!place) return;
  const auto sum = base::sha256_of_file(*place);
  if (!sum)
    problems.add(mark, sum.error().what);
  else if (*sum != file.sha256)
    problems.add(mark, fmt::format("{}: its SHA-256 is {}, expected {}", file.path, *sum, file.sha256));
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
    for (const std::string& place : {file.path, file.target, file.name.empty() ? "" : "image " + file.name})
      if (!place.empty() && !taken.insert(place).second)
        problems.add(item.mark, fmt::format("{}: is here twice", place));
    if (!file.path.empty() && !file.sha256.empty()) verify(bundle.directory, file, item.mark, problems);
    bundle.files.push_back(file);
  }
}

}  // namespace

Result<Bundle> open_bundle(const std::filesystem::path& directory) {
  std::error_code error;
  Bundle bundle;
  bundle.directory = fs::canonical(directory, error);
  const fs::path manifest = bundle.directory / "manifest.yaml";
  if (error || !fs::is_regular_file(manifest, error))
    return base::fail(base::Fault::usage,
                      fmt::format("{}: no bundle, it has no manifest.yaml", directory.string()),
                      "name the directory that holds manifest.yaml");

  const std::string text = TRY(base::read_file(manifest, 16u << 20));
  const Tree tree = TRY(base::yaml::read(text, manifest.string()));
  Problems problems(manifest.string());
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

}  // namespace assets
