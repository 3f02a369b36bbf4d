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
/// A file at `relative` below `folder`, which may come from somebody else: no link on the way is followed,
/// and only a regular file is opened, so that nothing is waited for. Fault::usage names what is in the way.
[[nodiscard]] Result<std::string> read_file_within(const std::filesystem::path& folder,
                                                   const std::filesystem::path& relative,
                                                   std::size_t limit = 64u << 20);
/// Writes beside the target, then renames; parents are made (0700). `mode` is the file's.
[[nodiscard]] Result<> write_file(const std::filesystem::path& path, std::string_view text,
                                  unsigned mode = 0600);

/// Fault::usage where something is at a path that is to be made, a link to nowhere included; `hint` is what
/// to type.
[[nodiscard]] Result<> is_new(const std::filesystem::path& path, std::string hint);

/// Takes a text piece by piece.
using Sink = std::function<void(std::string_view piece)>;
/// The same for what is too large to be held at once.
[[nodiscard]] Result<> write_file(const std::filesystem::path& path,
                                  const std::function<void(const Sink&)>& writes, unsigned mode = 0600);

/// $HOME, else the password database's.
[[nodiscard]] std::filesystem::path home();
/// $XDG_STATE_HOME/gpuadm, else ~/.local/state/gpuadm.
[[nodiscard]] std::filesystem::path state_directory();
/// $XDG_CONFIG_HOME/gpuadm, else ~/.config/gpuadm.
[[nodiscard]] std::filesystem::path config_directory();
/// $XDG_CACHE_HOME/gpuadm, else ~/.cache/gpuadm.
[[nodiscard]] std::filesystem::path cache_directory();

/// Of OpenSSL, which takes the sums.
[[nodiscard]] std::string openssl_version();

/// A sum that is taken piece by piece.
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
/// Of its first bytes, at most so many.
[[nodiscard]] Result<std::string> sha256_of_file(const std::filesystem::path& path,
                                                 std::uintmax_t most = UINTMAX_MAX);
[[nodiscard]] std::string base64(std::string_view bytes);

/// Whether a relative path names something below its folder: no root, no "." or "..", nothing empty, no
/// control bytes.
[[nodiscard]] bool is_inside(std::string_view path);

}  // namespace base
