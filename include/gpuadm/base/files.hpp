#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace base {

/// The whole file; at most `limit` bytes, more is an error.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit = 64u << 20);
/// Reads a file at `relative` below `folder`, which may be untrusted: follows no symbolic links, and opens
/// only a regular file, so that it never blocks. Fault::usage with the reason.
[[nodiscard]] Result<std::string> read_file_within(const std::filesystem::path& folder,
                                                   const std::filesystem::path& relative,
                                                   std::size_t limit = 64u << 20);
/// Writes a temporary file in the same directory, then renames it; creates parents (0700). `mode` is the
/// file's.
[[nodiscard]] Result<> write_file(const std::filesystem::path& path, std::string_view text,
                                  unsigned mode = 0600);

/// Fault::usage if the path of a new file already exists, even as a dangling link; `hint`: what to type.
[[nodiscard]] Result<> is_new(const std::filesystem::path& path, std::string hint);

/// Accepts a text piece by piece.
using Sink = std::function<void(std::string_view piece)>;
/// The same for contents that are too large for memory.
[[nodiscard]] Result<> write_file(const std::filesystem::path& path,
                                  const std::function<void(const Sink&)>& writes, unsigned mode = 0600);

/// $HOME, otherwise the home directory in the password database.
[[nodiscard]] std::filesystem::path home();
/// $XDG_STATE_HOME/gpuadm, otherwise ~/.local/state/gpuadm.
[[nodiscard]] std::filesystem::path state_directory();
/// $XDG_CONFIG_HOME/gpuadm, otherwise ~/.config/gpuadm.
[[nodiscard]] std::filesystem::path config_directory();
/// $XDG_CACHE_HOME/gpuadm, otherwise ~/.cache/gpuadm.
[[nodiscard]] std::filesystem::path cache_directory();

/// OpenSSL's digest context.
[[nodiscard]] std::string openssl_version();

/// A SHA-256 that is computed piece by piece.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();
  void add(std::string_view bytes);
  /// Lower-case hex, of everything so far. Nothing is added afterwards.
  [[nodiscard]] std::string end();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Lower-case hex.
[[nodiscard]] std::string sha256(std::string_view bytes);
/// Of at most this many bytes from the beginning.
[[nodiscard]] Result<std::string> sha256_of_file(const std::filesystem::path& path,
                                                 std::uintmax_t most = UINTMAX_MAX);
[[nodiscard]] std::string base64(std::string_view bytes);

/// Whether a relative path is below its directory: no root, no "." or "..", no empty component, no control
/// characters.
[[nodiscard]] bool is_inside(std::string_view path);

}  // namespace base
