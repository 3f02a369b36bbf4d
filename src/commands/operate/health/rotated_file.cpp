#include "commands/operate/health/rotated_file.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace commands {

namespace {

/// Whether the lines are in the file; errno says why not. What was written of them is removed.
bool append_lines(int file, std::string lines) {
  struct stat before{};
  if (::fstat(file, &before) != 0) return false;
  char last = '\n';
  if (before.st_size > 0 && ::pread(file, &last, 1, before.st_size - 1) != 1) return false;
  if (last != '\n') lines.insert(lines.begin(), '\n');
  const ssize_t written = ::write(file, lines.data(), lines.size());
  if (written == static_cast<ssize_t>(lines.size())) return true;
  if (written >= 0) errno = ENOSPC;
  const int why = errno;
  (void)!::ftruncate(file, before.st_size);
  errno = why;
  return false;
}

}  // namespace

base::Result<> append_rotated(const std::filesystem::path& folder, const std::string& name,
                              std::uintmax_t most, const std::string& lines) {
  std::error_code error;
  const auto path = folder / (name + ".jsonl");
  if (std::filesystem::file_size(path, error) > most && !error)
    std::filesystem::rename(path, folder / (name + ".1.jsonl"), error);
  const int file = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  const bool good = file >= 0 && append_lines(file, lines);
  const std::string why = good ? "" : std::generic_category().message(errno);
  if (file >= 0) ::close(file);
  if (good) return {};
  return base::fail(base::Fault::remote, fmt::format("cannot write {}: {}", path.string(), why),
                    "free disk space; conditions are sent anyway");
}

}  // namespace commands
