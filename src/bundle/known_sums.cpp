#include "bundle/known_sums.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <ctime>
#include <utility>

namespace bundle {

namespace {

constexpr std::size_t largest = 1u << 20;
// A file that was just written may be written again within the same tick of the clock of its file system.
constexpr std::time_t settled_seconds = 2;

/// Empty: the file cannot be identified, or was written just now.
std::string identity(const std::filesystem::path& path) {
  struct stat is{};
  if (::stat(path.c_str(), &is) != 0 || is.st_ctim.tv_sec + settled_seconds > std::time(nullptr)) return {};
  return fmt::format("{}:{}:{}:{}.{:09}:{}.{:09}", is.st_dev, is.st_ino, is.st_size, is.st_mtim.tv_sec,
                     is.st_mtim.tv_nsec, is.st_ctim.tv_sec, is.st_ctim.tv_nsec);
}

}  // namespace

KnownSums::KnownSums(std::filesystem::path file) : file_(std::move(file)) {
  if (file_.empty()) return;
  const auto text = base::read_file(file_, largest);
  if (!text) return;
  for (const std::string_view line : base::lines(*text))
    if (const auto words = base::split(line, ' '); words.size() == 2) known_.emplace(words[1], words[0]);
}

Result<std::string> KnownSums::sum_of(const std::filesystem::path& path) {
  const std::string before = file_.empty() ? "" : identity(path);
  if (const auto known = known_.find(before); known != known_.end())
    return used_.emplace(*known).first->second;
  std::string sum = TRY(base::sha256_of_file(path));
  if (!before.empty() && before == identity(path)) used_.emplace(before, sum);
  return sum;
}

void KnownSums::save() const {
  if (file_.empty() || used_ == known_) return;
  std::string text;
  for (const auto& [identity, sum] : used_) text += fmt::format("{} {}\n", sum, identity);
  std::error_code error;
  std::filesystem::create_directories(file_.parent_path(), error);
  (void)base::write_file(file_, text, 0600);
}

}  // namespace bundle
