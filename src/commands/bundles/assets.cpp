#include "gpuadm/assets/assets.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

struct AssetsOptions {
  std::filesystem::path overrides;
  std::string path;  ///< show: of an asset; export: a directory, which must be empty or missing
};

Result<Outcome> assets_list(const AssetsOptions& options, Io& io) {
  const assets::Store store = TRY(assets::Store::open(options.overrides));
  std::string text;
  for (const std::string& path : store.list()) text += fmt::format("{:<48} {}\n", path, store.origin(path));
  io.out(text);
  return Outcome::done;
}

Result<Outcome> assets_show(const AssetsOptions& options, Io& io) {
  const assets::Store store = TRY(assets::Store::open(options.overrides));
  const std::vector<std::string> known = store.list();
  if (std::ranges::find(known, options.path) == known.end()) {
    const auto near = base::nearest(options.path, known);
    return base::fail(base::Fault::usage, fmt::format("unknown asset: {}", base::printable(options.path)),
                      near ? fmt::format("did you mean {}?", *near) : "gpuadm assets list");
  }
  io.out(TRY(store.read(options.path)));
  return Outcome::done;
}

/// Prints what the operator's overrides change, as unified diffs.
Result<Outcome> assets_diff(const AssetsOptions& options, Io& io) {
  const assets::Store store = TRY(assets::Store::open(options.overrides));
  for (const assets::Store::Override& over : store.overrides()) {
    const std::string ours = assets::Store::shipped(over.path).value_or("");
    io.out(base::printable(base::unified_diff(ours, TRY(store.read(over.path)), over.path, over.file),
                           std::string::npos));
  }
  return Outcome::done;
}

/// Writes every asset in use to a directory, which must be empty or missing.
Result<Outcome> assets_export(const AssetsOptions& options, Io& io) {
  const std::filesystem::path folder = options.path;
  const assets::Store store = TRY(assets::Store::open(options.overrides));
  std::error_code error;
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_empty(folder, error))
    return base::fail(base::Fault::usage, fmt::format("{} is not an empty directory", folder.string()),
                      "specify a directory that is empty or does not exist");
  const std::vector<std::string> paths = store.list();
  for (const std::string& path : paths) TRY(base::write_file(folder / path, TRY(store.read(path)), 0644));
  io.err(fmt::format("{} files in {}; use them with --assets {}\n", paths.size(), folder.string(),
                     folder.string()));
  return Outcome::done;
}

void add_overrides(Line& line, AssetsOptions& options) {
  line.assets(options.overrides);
}

}  // namespace

Command assets_list_command() {
  return CommandRow<AssetsOptions>{.name = "assets list",
                                   .group = Group::bundles,
                                   .summary = "List all assets and their origin",
                                   .options = add_overrides,
                                   .examples = {{"gpuadm assets list", "all assets"}},
                                   .run = assets_list};
}

Command assets_diff_command() {
  return CommandRow<AssetsOptions>{
      .name = "assets diff",
      .group = Group::bundles,
      .summary = "Show what overrides change",
      .options = add_overrides,
      .examples = {{"gpuadm assets diff --assets ./mine", "what your overrides change"}},
      .run = assets_diff};
}

Command assets_show_command() {
  return CommandRow<AssetsOptions>{
      .name = "assets show",
      .group = Group::bundles,
      .summary = "Print one asset",
      .options =
          [](Line& line, AssetsOptions& options) {
            add_overrides(line, options);
            line.argument("PATH", options.path, "Path as shown by list").required();
          },
      .examples = {{"gpuadm assets show playbooks/catalog.yaml", "versions and checksums"}},
      .run = assets_show};
}

Command assets_export_command() {
  return CommandRow<AssetsOptions>{
      .name = "assets export",
      .group = Group::bundles,
      .summary = "Write all assets to a directory",
      .options =
          [](Line& line, AssetsOptions& options) {
            add_overrides(line, options);
            line.argument("DIR", options.path, "Directory; must be empty or not exist").required();
          },
      .examples = {{"gpuadm assets export ./mine", "to edit them"}},
      .run = assets_export};
}

}  // namespace commands
