#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// Archives: tar, and compressed files.
namespace bundle {

using base::Result;

/// Reads at most `most` bytes; 0 at the end.
using ReadSome = std::function<Result<std::size_t>(char* into, std::size_t most)>;

/// The bytes of a file, decompressed if it is gzip, Zstandard or xz.
[[nodiscard]] Result<ReadSome> read_unpacked(const std::filesystem::path& file);

/// A file's tar header.
struct TarEntry {
  std::string name;
  char type = '0';         ///< '0' regular file, '5' folder, '1' and '2' links
  std::uint64_t size = 0;  ///< bytes
};

/// Reads a tar archive (POSIX ustar and pax, GNU long names) sequentially. The archive is untrusted: names
/// are returned unchanged, and damage or truncation is Fault::parse.
class TarReader {
 public:
  /// `source` names the archive in errors.
  TarReader(ReadSome bytes, std::string source);
  /// The next entry; nothing at the end. Unread bytes of the previous one are skipped.
  [[nodiscard]] Result<std::optional<TarEntry>> next();
  /// Bytes of the current entry; 0 at its end.
  [[nodiscard]] Result<std::size_t> read(char* into, std::size_t most);

 private:
  [[nodiscard]] Result<> exactly(char* into, std::size_t count);
  [[nodiscard]] Result<> skip(std::uint64_t count);
  [[nodiscard]] Result<std::string> text(std::uint64_t size);
  [[nodiscard]] std::unexpected<base::Error> damaged(std::string_view how) const;
  ReadSome bytes_;
  std::string source_;
  std::uint64_t left_ = 0, padding_ = 0;
};

/// The 512-byte header of a regular file: no owner, no date, 0644. `name` has at most 100 bytes.
[[nodiscard]] std::string tar_header(std::string_view name, std::uint64_t size);
/// The zero bytes that follow a file of that size.
[[nodiscard]] std::string tar_padding(std::uint64_t size);
/// The end-of-archive marker.
[[nodiscard]] std::string tar_end();

/// Writes a Zstandard file next to `file` (0644) and renames it at the end. An unfinished one is removed.
class ZstdWriter {
 public:
  [[nodiscard]] static Result<ZstdWriter> make(const std::filesystem::path& file);
  ZstdWriter(ZstdWriter&&) noexcept;
  ZstdWriter& operator=(ZstdWriter&&) = delete;
  ~ZstdWriter();
  [[nodiscard]] Result<> add(std::string_view bytes);
  [[nodiscard]] Result<> end();

 private:
  struct State;
  explicit ZstdWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace bundle
