#include "gpuadm/base/secret_file.hpp"

#include "gpuadm/base/shell.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace base {

namespace {

constexpr std::size_t largest = 1u << 20;

}  // namespace

base::Result<base::Secret> read_private_file(const std::filesystem::path& file) {
  const auto refuse = [&](std::string_view why, std::string hint = {}) {
    return base::fail(base::Fault::usage, fmt::format("{}: {}", file.string(), why), std::move(hint));
  };
  const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) return refuse(std::strerror(errno));
  const std::unique_ptr<const int, void (*)(const int*)> closes(&opened,
                                                                [](const int* held) { ::close(*held); });
  struct stat about{};
  if (::fstat(opened, &about) != 0) return refuse(std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return refuse("is not a regular file");
  if (about.st_uid != ::geteuid()) return refuse("belongs to another user");
  if ((about.st_mode & 077) != 0)
    return refuse(fmt::format("other users can read it (mode {:04o})", about.st_mode & 07777),
                  fmt::format("chmod 600 {}", base::quote(file.string())));
  std::string text(largest, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size(); size += static_cast<std::size_t>(got)) {
    got = ::read(opened, text.data() + size, text.size() - size);
    if (got < 0) return refuse(std::strerror(errno));
  }
  if (size == text.size()) return refuse("is too large");
  base::Secret secret(text.substr(0, size));
  ::explicit_bzero(text.data(), text.size());
  if (secret.empty()) return refuse("is empty");
  return secret;
}

base::Result<base::Secret> read_secret_file(const std::filesystem::path& file) {
  const base::Secret whole = TRY(read_private_file(file));
  base::Secret line(whole.reveal().substr(0, whole.reveal().find_first_of("\r\n")));
  if (line.empty()) return base::fail(base::Fault::usage, file.string() + ": is empty");
  return line;
}

}  // namespace base
