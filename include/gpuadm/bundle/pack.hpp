#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct archive;

/// Archives: tar, and compressed files.
namespace bundle {

using base::Result;

/// A file's tar header.
struct TarEntry {
  std::string name;
  char type = '0';         ///< '0' regular file, '5' folder, '1' and '2' links, '?' anything else
  std::uint64_t size = 0;  ///< bytes
};

/// Reads a file sequentially with libarchive (decision 35): gzip, xz, Zstandard or not compressed. The file
/// is untrusted: names are returned unchanged, and damage or truncation is Fault::parse in libarchive's
/// words.
class ArchiveReader {
 public:
  /// A tar archive (POSIX ustar and pax, GNU). Fault::usage if the file cannot be read.
  [[nodiscard]] static Result<ArchiveReader> tar(const std::filesystem::path& file);
  /// One file that may be compressed: its bytes are those of the first and only entry.
  [[nodiscard]] static Result<ArchiveReader> plain(const std::filesystem::path& file);
  /// The next entry; nothing at the end. Unread bytes of the previous one are skipped.
  [[nodiscard]] Result<std::optional<TarEntry>> next();
  /// Bytes of the current entry; 0 at its end. A sparse entry may have more of them than its size: a caller
  /// reads no more than it expects.
  [[nodiscard]] Result<std::size_t> read(char* into, std::size_t most);

 private:
  struct Close {
    void operator()(::archive* of) const;
  };
  ArchiveReader() = default;
  [[nodiscard]] static Result<ArchiveReader> open(const std::filesystem::path& file, bool is_tar);
  [[nodiscard]] std::unexpected<base::Error> damaged() const;
  std::unique_ptr<::archive, Close> archive_;
  std::string source_;
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
