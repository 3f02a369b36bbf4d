#include "commands/inspect/archive.hpp"

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/transport/run_local.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

namespace commands {

namespace {

namespace fs = std::filesystem;
using base::Fault;

constexpr std::chrono::seconds pack_timeout{300};

/// A safe path from a section name of a host: relative, without hidden components.
fs::path as_path(std::string_view name) {
  fs::path path;
  for (const std::string_view part : base::split(name.substr(0, 200), '/')) {
    std::string safe;
    for (const char c : part)
      safe += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ? c : '_';
    if (safe.empty()) continue;
    if (safe.front() == '.') safe.front() = '_';
    path /= safe;
  }
  if (path.empty()) path = "unnamed";
  path += ".txt";
  return path;
}

}  // namespace

Result<Archive> Archive::make(std::string name) {
  std::error_code error;
  std::string parent = (fs::temp_directory_path(error) / "gpuadm-support.XXXXXX").string();
  if (error || !::mkdtemp(parent.data()))
    return base::fail(Fault::usage, fmt::format("cannot create the directory {}", parent),
                      "set TMPDIR to a directory that you can write to");
  return Archive(parent, std::move(name));
}

Archive::~Archive() {
  std::error_code error;
  if (!parent_.empty()) fs::remove_all(parent_, error);
}

Result<> Archive::add(const fs::path& path, std::string_view text) const {
  return base::write_file(folder() / path, text);
}

std::size_t Archive::add_sections(const fs::path& path, std::string_view answer) const {
  std::string name, text;
  std::size_t sections = 0, left_out = 0;
  std::set<fs::path> made;
  const auto end = [&] {
    if (name.empty() || text.empty()) return;
    fs::path file = as_path(name);
    for (int i = 2; made.contains(file); ++i) file = as_path(fmt::format("{}-{}", name, i));
    if (++sections > most_sections || !add(path / file, text))
      ++left_out;
    else
      made.insert(file);
    text.clear();
  };
  for (const std::string_view line : base::lines(answer)) {
    if (line.starts_with("=== ")) {
      end();
      name = line == "=== end" || line == "=== people" ? "" : line.substr(4);
    } else if (line.starts_with("| ")) {
      text += std::string(line.substr(2)) + "\n";
    } else if (line == "! cut") {
      text += "[truncated]\n";
    } else if (line.starts_with("? ") && line != "? 0") {
      text += fmt::format("[exit status {}]\n", line.substr(2));
    }
  }
  end();
  return left_out;
}

std::string Archive::contents() const {
  struct Sum {
    std::size_t files = 0;
    std::uintmax_t bytes = 0;
  };
  std::map<std::string, Sum> sums;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder(), error), none; it != none; it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    const fs::path path = fs::relative(it->path(), folder(), error);
    fs::path shown;
    int depth = 0;
    for (const fs::path& part : path.parent_path())
      if (depth++ < 3) shown /= part;
    Sum& sum = sums[shown.empty() ? path.string() : shown.string() + "/"];
    ++sum.files;
    sum.bytes += it->file_size(error);
  }
  std::size_t width = 0;
  for (const auto& [name, sum] : sums) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, sum] : sums)
    text += fmt::format("  {:<{}}  {:>3} {}  {:>10}\n", name, width, sum.files,
                        sum.files == 1 ? "file " : "files", base::human_bytes(sum.bytes));
  return text;
}

Result<> Archive::pack(const fs::path& file) const {
  const transport::Exit exit = TRY(transport::run_local(
      "pack the archive",
      {{"parent", parent_.string()}, {"name", name_}, {"file", fs::absolute(file).string()}},
      TRY(assets::Store::carried("playbooks/local/pack.sh")), pack_timeout));
  if (exit.status == 0) return {};
  return base::fail(Fault::usage, fmt::format("cannot write {}: {}", file.string(), base::tail(exit.err, 3)),
                    "specify a new file in a directory that you can write to: --output FILE");
}

}  // namespace commands
