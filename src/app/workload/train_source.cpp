#include "gpuadm/base/file_kind.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "app/workload/train_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace app {

namespace {

namespace fs = std::filesystem;
using base::Fault;
using workload::SourceFile;

/// A ConfigMap holds 1 MiB with its metadata (kubernetes pkg/apis/core/validation); a Job lists each file.
constexpr std::size_t largest = 900u << 10, most_files = 1000;

constexpr std::array left_out = {
    ".git",        ".hg",           ".svn",        "__pycache__", ".venv", "venv", ".ipynb_checkpoints",
    ".mypy_cache", ".pytest_cache", ".ruff_cache", "node_modules"};

bool is_left_out(const fs::path& name) {
  return std::ranges::find(left_out, name.string()) != left_out.end() || name.extension() == ".pyc";
}

std::unexpected<base::Error> too_large(const fs::path& folder, std::string_view what,
                                       std::vector<std::pair<std::uintmax_t, std::string>> files) {
  std::ranges::sort(files, std::greater<>());
  std::string largest_files;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, files.size()); ++i)
    largest_files += fmt::format("{}{} ({})", i == 0 ? "" : ", ", base::printable(files[i].second, 100),
                                 base::human_bytes(files[i].first));
  return base::fail(Fault::usage,
                    fmt::format("--src {}: {}; the largest files: {}", folder.string(), what, largest_files),
                    "send only source code; data belongs on a volume: --storage CLAIM:/data");
}

}  // namespace

Result<std::vector<SourceFile>> read_source(const fs::path& folder) {
  if (const std::string why = base::why_no_directory(folder); !why.empty())
    return base::fail(Fault::usage, fmt::format("--src {}: {}", folder.string(), why),
                      "--src DIR: a local directory with the source code");
  std::error_code error;
  std::vector<std::pair<std::uintmax_t, std::string>> found;
  std::uintmax_t bytes = 0;
  fs::recursive_directory_iterator it(folder, error), end;
  for (; !error && it != end; it.increment(error)) {
    const fs::path relative = it->path().lexically_relative(folder);
    const fs::file_status status = it->symlink_status(error);
    if (is_left_out(relative.filename())) {
      if (fs::is_directory(status)) it.disable_recursion_pending();
      continue;
    }
    if (fs::is_directory(status)) continue;
    if (!fs::is_regular_file(status))
      return base::fail(Fault::usage,
                        fmt::format("--src {}: {} is not a regular file", folder.string(),
                                    base::printable(relative.string(), 200)),
                        "replace links by the files");
    if (relative.begin()->string().starts_with(".."))
      return base::fail(Fault::usage, fmt::format("--src {}: a name must not begin with two dots: {}",
                                                  folder.string(), base::printable(relative.string(), 200)));
    found.emplace_back(it->file_size(error), relative.string());
    bytes += found.back().first;
    if (found.size() > 100 * most_files) break;
  }
  if (error) return base::fail(Fault::usage, fmt::format("--src {}: {}", folder.string(), error.message()));
  if (found.size() > most_files)
    return too_large(folder, fmt::format("more than {} files", most_files), found);
  if (bytes > largest)
    return too_large(
        folder, fmt::format("{}, more than {}", base::human_bytes(bytes), base::human_bytes(largest)), found);
  if (found.empty())
    return base::fail(Fault::usage, fmt::format("--src {}: the directory is empty", folder.string()));
  std::ranges::sort(found, {}, &std::pair<std::uintmax_t, std::string>::second);
  std::vector<SourceFile> files;
  for (const auto& [size, path] : found) {
    const auto mode = fs::status(folder / path, error).permissions();
    files.push_back({path, TRY(base::read_file_within(folder, path, largest)),
                     (mode & fs::perms::owner_exec) != fs::perms::none});
  }
  return files;
}

}  // namespace app
