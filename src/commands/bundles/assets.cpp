#include "gpuadm/assets/assets.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "commands/app.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

Result<Outcome> assets_list(const Common& common, Io& io) {
  const assets::Store store = TRY(assets::Store::open(common.assets));
  std::string text;
  for (const std::string& path : store.list()) text += fmt::format("{:<48} {}\n", path, store.origin(path));
  io.out(text);
  return Outcome::done;
}

Result<Outcome> assets_show(const Common& common, const std::string& path, Io& io) {
  const assets::Store store = TRY(assets::Store::open(common.assets));
  const std::vector<std::string> known = store.list();
  if (std::ranges::find(known, path) == known.end()) {
    const auto near = base::nearest(path, known);
    return base::fail(base::Fault::usage, fmt::format("unknown asset: {}", base::printable(path)),
                      near ? fmt::format("did you mean {}?", *near) : "gpuadm assets list");
  }
  io.out(TRY(store.read(path)));
  return Outcome::done;
}

Result<Outcome> assets_diff(const Common& common, Io& io) {
  const assets::Store store = TRY(assets::Store::open(common.assets));
  for (const assets::Store::Override& over : store.overrides()) {
    const std::string ours = assets::Store::shipped(over.path).value_or("");
    io.out(base::printable(base::unified_diff(ours, TRY(store.read(over.path)), over.path, over.file),
                           std::string::npos));
  }
  return Outcome::done;
}

Result<Outcome> assets_export(const Common& common, const std::filesystem::path& folder, Io& io) {
  const assets::Store store = TRY(assets::Store::open(common.assets));
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

}  // namespace commands
