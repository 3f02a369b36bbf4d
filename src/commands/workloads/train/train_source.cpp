#include "gpuadm/base/file_kind.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "commands/workloads/train/source_names.hpp"
#include "commands/workloads/train/train_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace commands {

namespace {

namespace fs = std::filesystem;
using base::Fault;

/// A ConfigMap holds 1 MiB with its metadata (kubernetes pkg/apis/core/validation); a Job lists each file.
constexpr std::size_t largest = 900u << 10, most_files = 1000;

/// More names are counted.
constexpr std::size_t most_shown = 5;

/// What is left out of the source folder.
class LeftOut {
 public:
  explicit LeftOut(const std::vector<std::string>& include) : include_(include), used_(include.size()) {}

  /// Whether --include names it.
  [[nodiscard]] bool is_included(const fs::path& relative) {
    const int place = find_pattern(include_, relative);
    if (place < 0) return false;
    used_[static_cast<std::size_t>(place)] = true;
    return true;
  }
  void add(const fs::path& relative, std::string_view why) {
    // Caches have the same name in many folders.
    const std::string name = why == "cache" ? relative.filename().string() : relative.string();
    names_[std::string(why)].insert(name);
  }
  /// A pattern that named nothing.
  [[nodiscard]] Result<> check_patterns() const {
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (!used_[i])
        return base::fail(Fault::usage,
                          fmt::format("--include {}: nothing of --src that is left out has this name",
                                      base::printable(include_[i], 100)),
                          "a name such as .env, a pattern such as '*.pem', or a path below the folder");
    return {};
  }
  /// In one line; empty: nothing.
  [[nodiscard]] std::string note() const {
    std::string text;
    for (const char* why : {"may contain secrets", "private key", "version control", "cache"}) {
      const auto found = names_.find(why);
      if (found == names_.end()) continue;
      std::vector<std::string> shown;
      for (const std::string& name : found->second)
        if (shown.size() < most_shown)
          shown.push_back(base::printable(base::replace_all(name, "\n", "\\n"), 60));
      if (found->second.size() > shown.size())
        shown.push_back(fmt::format("{} more", found->second.size() - shown.size()));
      text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", base::join(shown, ", "), why);
    }
    return text.empty() ? text : "--src leaves out, unless --include names it: " + text;
  }

 private:
  const std::vector<std::string>& include_;
  std::vector<bool> used_;
  std::map<std::string, std::set<std::string>> names_;  ///< by the reason
};

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

Result<SourceFolder> read_source(const fs::path& folder, const std::vector<std::string>& include) {
  if (const std::string why = base::why_no_directory(folder); !why.empty())
    return base::fail(Fault::usage, fmt::format("--src {}: {}", folder.string(), why),
                      "--src DIR: a local directory with the source code");
  std::error_code error;
  std::vector<std::pair<std::uintmax_t, std::string>> found;
  std::uintmax_t bytes = 0;
  LeftOut left_out(include);
  fs::recursive_directory_iterator it(folder, error), end;
  for (; !error && it != end; it.increment(error)) {
    const fs::path relative = it->path().lexically_relative(folder);
    const fs::file_status status = it->symlink_status(error);
    const std::string_view why = why_left_out(relative);
    if (!why.empty() && !left_out.is_included(relative)) {
      left_out.add(relative, why);
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
  std::ranges::sort(found, {}, &std::pair<std::uintmax_t, std::string>::second);
  SourceFolder source;
  for (const auto& [size, path] : found) {
    const auto mode = fs::status(folder / path, error).permissions();
    std::string content = TRY(base::read_file_within(folder, path, largest));
    if (begins_with_private_key(content) && !left_out.is_included(path)) {
      left_out.add(path, "private key");
      continue;
    }
    source.files.push_back({path, std::move(content), (mode & fs::perms::owner_exec) != fs::perms::none});
  }
  TRY(left_out.check_patterns());
  source.note = left_out.note();
  if (source.files.empty())
    return base::fail(Fault::usage, fmt::format("--src {}: {}", folder.string(),
                                                source.note.empty() ? "the directory is empty"
                                                                    : "no file is left: " + source.note));
  return source;
}

}  // namespace commands
