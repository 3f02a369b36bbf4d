#include "gpuadm/base/files.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

namespace base {

namespace {

struct Descriptor {
  explicit Descriptor(int descriptor) : fd(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

/// Writes pieces of any size in large blocks; remembers the first failure and its errno.
class Pieces {
 public:
  explicit Pieces(int fd) : fd_(fd) {}
  void add(std::string_view piece) {
    if (error_ != 0) return;
    if (held_.size() + piece.size() > block) put(std::exchange(held_, {}));
    if (piece.size() > block)
      put(piece);
    else
      held_ += piece;
  }
  /// Whether everything was written.
  bool end() {
    put(held_);
    errno = error_;
    return error_ == 0;
  }

 private:
  static constexpr std::size_t block = 256u << 10;
  void put(std::string_view rest) {
    while (!rest.empty() && error_ == 0) {
      const ssize_t count = ::write(fd_, rest.data(), rest.size());
      if (count < 0 && errno != EINTR) error_ = errno;
      if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  int fd_, error_ = 0;
  std::string held_;
};

std::unexpected<Error> system_error(std::string_view doing, const std::filesystem::path& path) {
  return fail(Fault::usage, fmt::format("cannot {} {}: {}", doing, path.string(), std::strerror(errno)));
}

Result<std::string> read_all(int fd, const std::filesystem::path& path, std::size_t limit) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("read", path);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > limit)
      return fail(Fault::usage, fmt::format("{}: larger than {} bytes", path.string(), limit));
  }
}

/// Hashes the output of `next` until it is empty.
template <class Next>
std::string digest(Next next) {
  Sha256 sum;
  for (std::string_view piece = next(); !piece.empty(); piece = next()) sum.add(piece);
  return sum.end();
}

std::filesystem::path from_environment(const char* variable, const char* otherwise) {
  const char* value = std::getenv(variable);
  return (value && *value == '/' ? std::filesystem::path(value) : home() / otherwise) / "gpuadm";
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return system_error("read", path);
  return read_all(file.fd, path, limit);
}

Result<std::string> read_file_within(const std::filesystem::path& folder,
                                     const std::filesystem::path& relative, std::size_t limit) {
  auto held = std::make_unique<Descriptor>(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::filesystem::path path = folder;
  if (held->fd < 0) return system_error("read", path);
  for (auto part = relative.begin(); part != relative.end(); ++part) {
    path /= *part;
    const bool last = std::next(part) == relative.end();
    const int flags = O_CLOEXEC | O_NOFOLLOW | (last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY);
    auto next = std::make_unique<Descriptor>(::openat(held->fd, part->c_str(), flags));
    if (next->fd < 0 && (errno == ELOOP || errno == ENOTDIR))
      return fail(Fault::usage, fmt::format("{} is not a {}: symbolic links are not followed", path.string(),
                                            last ? "regular file" : "directory"));
    if (next->fd < 0) return system_error("read", path);
    held = std::move(next);
  }
  struct stat about{};
  if (::fstat(held->fd, &about) != 0 || !S_ISREG(about.st_mode))
    return fail(Fault::usage, fmt::format("{} is not a regular file", path.string()));
  return read_all(held->fd, path, limit);
}

Result<> write_file(const std::filesystem::path& path, std::string_view text, unsigned mode) {
  return write_file(path, [&](const Sink& sink) { sink(text); }, mode);
}

Result<> write_file(const std::filesystem::path& path, const std::function<void(const Sink&)>& writes,
                    unsigned mode) {
  std::error_code ignored;
  if (path.has_parent_path() && !std::filesystem::exists(path.parent_path(), ignored)) {
    std::filesystem::path made;
    for (const auto& part : path.parent_path()) {
      made /= part;
      if (::mkdir(made.c_str(), 0700) != 0 && errno != EEXIST)
        return system_error("create the directory", made);
    }
  }
  std::string temporary = path.string() + ".XXXXXX";
  Descriptor file{::mkstemp(temporary.data())};
  if (file.fd < 0) return system_error("write", path);
  ::fchmod(file.fd, mode);
  Pieces pieces(file.fd);
  writes([&](std::string_view piece) { pieces.add(piece); });
  bool good = pieces.end();
  if (good) ::fsync(file.fd);
  good = good && ::rename(temporary.c_str(), path.c_str()) == 0;
  if (good) return {};
  auto error = system_error("write", path);
  ::unlink(temporary.c_str());
  return error;
}

Result<> is_new(const std::filesystem::path& path, std::string hint) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return {};
  return fail(Fault::usage, fmt::format("{} already exists", printable(path.string())), std::move(hint));
}

std::filesystem::path home() {
  if (const char* value = std::getenv("HOME"); value && *value == '/') return value;
  if (const passwd* entry = ::getpwuid(::getuid()); entry && entry->pw_dir) return entry->pw_dir;
  return "/";
}

std::filesystem::path state_directory() {
  return from_environment("XDG_STATE_HOME", ".local/state");
}
std::filesystem::path config_directory() {
  return from_environment("XDG_CONFIG_HOME", ".config");
}
std::filesystem::path cache_directory() {
  return from_environment("XDG_CACHE_HOME", ".cache");
}

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

std::string openssl_version() {
  return ::OpenSSL_version(OPENSSL_VERSION);
}

Sha256::Sha256() : state_(std::make_unique<State>()) {
  EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr);
}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

std::string Sha256::end() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned length = 0;
  EVP_DigestFinal_ex(state_->context.get(), bytes.data(), &length);
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", bytes[i]);
  return hex;
}

std::string sha256(std::string_view bytes) {
  return digest([&] { return std::exchange(bytes, std::string_view()); });
}

Result<std::string> sha256_of_file(const std::filesystem::path& path, std::uintmax_t most) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return system_error("read", path);
  std::string buffer(1u << 20, '\0');
  std::string hex = digest([&] {
    file.read(buffer.data(), static_cast<std::streamsize>(std::min<std::uintmax_t>(buffer.size(), most)));
    most -= static_cast<std::uintmax_t>(file.gcount());
    return std::string_view(buffer.data(), static_cast<std::size_t>(file.gcount()));
  });
  if (file.bad()) return system_error("read", path);
  return hex;
}

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

bool is_inside(std::string_view path) {
  return std::ranges::all_of(split(path, '/'), [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." && std::ranges::none_of(part, [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
  });
}

}  // namespace base
