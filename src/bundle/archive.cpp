#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/pack.hpp"

#include <fmt/format.h>

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace bundle {

namespace {

using base::Fault;

/// Bytes that libarchive reads at once.
constexpr std::size_t piece = 256u << 10;

char type_of(archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr) return '1';
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
      return '0';
    case AE_IFLNK:
      return '2';
    case AE_IFDIR:
      return '5';
    default:
      return '?';
  }
}

}  // namespace

void ArchiveReader::Close::operator()(::archive* of) const {
  archive_read_free(of);
}

Result<ArchiveReader> ArchiveReader::tar(const std::filesystem::path& file) {
  return open(file, true);
}
Result<ArchiveReader> ArchiveReader::plain(const std::filesystem::path& file) {
  return open(file, false);
}

Result<ArchiveReader> ArchiveReader::open(const std::filesystem::path& file, bool is_tar) {
  ArchiveReader reader;
  reader.source_ = file.string();
  std::error_code error;
  if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error))
    return base::fail(Fault::usage, fmt::format("cannot read {}: not a regular file", reader.source_));
  reader.archive_.reset(archive_read_new());
  ::archive* of = reader.archive_.get();
  if (of == nullptr) throw std::bad_alloc();
  archive_read_support_filter_gzip(of);
  archive_read_support_filter_xz(of);
  archive_read_support_filter_zstd(of);
  if (is_tar) {
    archive_read_support_format_tar(of);
  } else {
    archive_read_support_format_raw(of);
    archive_read_support_format_empty(of);
  }
  if (archive_read_open_filename(of, reader.source_.c_str(), piece) == ARCHIVE_OK) return reader;
  // The file cannot be opened, or its beginning cannot be decompressed.
  if (const int number = archive_errno(of); number > 0 && access(reader.source_.c_str(), R_OK) != 0)
    return base::fail(Fault::usage, fmt::format("cannot read {}: {}", reader.source_, std::strerror(errno)));
  return reader.damaged();
}

std::unexpected<base::Error> ArchiveReader::damaged() const {
  const char* text = archive_error_string(archive_.get());
  return base::fail(Fault::parse, fmt::format("{}: damaged: {}", source_,
                                              base::printable(text == nullptr ? "" : text, 200)));
}

Result<std::optional<TarEntry>> ArchiveReader::next() {
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(archive_.get(), &entry);
  if (status == ARCHIVE_EOF) return std::nullopt;
  // A warning is about a name that the locale cannot show; the name is unchanged.
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return damaged();
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) name = archive_entry_pathname_utf8(entry);
  return TarEntry{.name = name == nullptr ? "" : name,
                  .type = type_of(entry),
                  .size = static_cast<std::uint64_t>(std::max<la_int64_t>(archive_entry_size(entry), 0))};
}

Result<std::size_t> ArchiveReader::read(char* into, std::size_t most) {
  const la_ssize_t count = archive_read_data(archive_.get(), into, most);
  if (count < 0) return damaged();
  return static_cast<std::size_t>(count);
}

}  // namespace bundle
