#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/file_kind.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "assets/embedded.hpp"

#include <fmt/format.h>

#include <set>

namespace assets {

namespace {

namespace fs = std::filesystem;

/// Regular files below a directory, relative to it. Unreadable directories count as empty: they override
/// nothing.
std::set<std::string> files_below(const fs::path& folder) {
  std::set<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->is_regular_file(error)) found.insert(entry->path().lexically_relative(folder).string());
  return found;
}

/// The first file with this name.
std::optional<fs::path> override_of(const std::vector<fs::path>& folders, std::string_view path) {
  std::error_code error;
  for (const fs::path& folder : folders)
    if (fs::is_regular_file(folder / path, error)) return folder / path;
  return std::nullopt;
}

}  // namespace

Result<Store> Store::open(const std::filesystem::path& directory) {
  Store store;
  if (!directory.empty()) {
    if (const std::string why = base::why_no_directory(directory); !why.empty())
      return base::fail(base::Fault::usage, fmt::format("--assets {}: {}", directory.string(), why),
                        "create one with all files: gpuadm assets export DIR");
    std::error_code error;
    store.directories_.push_back(fs::canonical(directory, error));
    if (error)
      return base::fail(base::Fault::usage,
                        fmt::format("--assets {}: {}", directory.string(), error.message()));
  }
  store.directories_.push_back(base::config_directory() / "assets");
  store.directories_.emplace_back("/etc/gpuadm/assets");
  return store;
}

Result<std::string> Store::read(std::string_view path) const {
  if (!base::is_inside(path))
    return base::fail(base::Fault::usage,
                      fmt::format("'{}' is not a path of an asset", base::printable(path, 200)));
  if (const auto file = override_of(directories_, path)) return base::read_file(*file);
  if (const auto found = embedded().find(path); found != embedded().end()) return std::string(found->second);
  return base::fail(base::Fault::bug, fmt::format("unknown asset: {}", base::printable(path, 200)),
                    "gpuadm assets list");
}

std::optional<std::string> Store::shipped(std::string_view path) {
  const auto found = embedded().find(path);
  return found == embedded().end() ? std::nullopt : std::optional<std::string>(found->second);
}

Result<std::string> Store::carried(std::string_view path) {
  auto text = shipped(path);
  if (!text) return base::fail(base::Fault::bug, "gpuadm does not contain " + std::string(path));
  return std::move(*text);
}

std::vector<std::string> Store::list(std::string_view prefix) const {
  std::set<std::string> paths;
  for (const auto& [path, bytes] : embedded()) paths.emplace(path);
  for (const fs::path& folder : directories_) paths.merge(files_below(folder));
  std::erase_if(paths,
                [&](const std::string& path) { return !path.starts_with(prefix) || !base::is_inside(path); });
  return {paths.begin(), paths.end()};
}

std::string Store::origin(std::string_view path) const {
  const auto file = base::is_inside(path) ? override_of(directories_, path) : std::nullopt;
  return file ? file->string() : "embedded";
}

std::vector<Store::Override> Store::overrides() const {
  std::vector<Override> found;
  for (const std::string& path : list()) {
    const auto file = override_of(directories_, path);
    if (!file) continue;
    const auto sum = base::sha256_of_file(*file);
    found.push_back({path, file->string(), sum ? *sum : "unreadable: " + sum.error().what});
  }
  return found;
}

}  // namespace assets
