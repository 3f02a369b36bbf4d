#include "app/secret_file.hpp"

#include "gpuadm/base/shell.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace app {

base::Result<base::Secret> read_secret_file(const std::filesystem::path& file) {
  const auto refuse = [&](std::string_view why, std::string hint = {}) {
    return base::fail(base::Fault::usage, fmt::format("{}: {}", file.string(), why), std::move(hint));
  };
  const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) return refuse(std::strerror(errno));
  const std::unique_ptr<const int, void (*)(const int*)> closes(&opened,
                                                                [](const int* held) { ::close(*held); });
  struct stat about{};
  if (::fstat(opened, &about) != 0) return refuse(std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return refuse("is no regular file");
  if (about.st_uid != ::geteuid()) return refuse("belongs to somebody else");
  if ((about.st_mode & 077) != 0)
    return refuse(fmt::format("others may read it (mode {:04o})", about.st_mode & 07777),
                  fmt::format("chmod 600 {}", base::quote(file.string())));
  std::array<char, 1024> buffer{};
  const ssize_t size = ::read(opened, buffer.data(), buffer.size());
  if (size < 0) return refuse(std::strerror(errno));
  std::string_view line(buffer.data(), static_cast<std::size_t>(size));
  line = line.substr(0, line.find_first_of("\r\n"));
  base::Secret secret{std::string(line)};
  ::explicit_bzero(buffer.data(), buffer.size());
  if (secret.empty()) return refuse("is empty");
  return secret;
}

}  // namespace app
