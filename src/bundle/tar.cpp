#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/pack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

// The format: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Header Block"; GNU tar manual, "Basic
// Tar Format" (types L and K, sizes in base 256).

namespace bundle {

namespace {

constexpr std::size_t block = 512;
constexpr std::uint64_t largest_name = 64u << 10;

/// An octal number, or GNU's base 256; nothing if it is neither.
std::optional<std::uint64_t> number(std::string_view field) {
  std::uint64_t value = 0;
  if ((static_cast<unsigned char>(field.front()) & 0x80u) != 0) {
    if (field.front() != '\x80') return std::nullopt;  // negative, or too large
    for (const char c : field.substr(1)) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(c);
    }
    return value;
  }
  field = field.substr(0, field.find('\0'));
  field = base::trim(field);
  for (const char c : field) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value << 3 | static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

std::string_view zero_ended(std::string_view field) {
  return field.substr(0, field.find('\0'));
}

/// The checksum of a header: the sum of its bytes, with its own field as spaces.
std::uint64_t checksum(std::string_view header) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < header.size(); ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  return sum;
}

/// `LENGTH KEY=VALUE\n` records.
struct Pax {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;
};
std::optional<Pax> read_pax(std::string_view text) {
  Pax pax;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    const auto length = base::to_int(text.substr(0, blank));
    if (blank == std::string_view::npos || !length || *length <= static_cast<long long>(blank) + 1 ||
        static_cast<unsigned long long>(*length) > text.size())
      return std::nullopt;
    const std::string_view record =
        text.substr(blank + 1, static_cast<std::size_t>(*length) - blank - 2);  // without the newline
    text.remove_prefix(static_cast<std::size_t>(*length));
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") pax.path = value;
    if (key == "size") {
      const auto size = base::to_int(value);
      if (!size || *size < 0) return std::nullopt;
      pax.size = static_cast<std::uint64_t>(*size);
    }
  }
  return pax;
}

std::uint64_t padding_of(std::uint64_t size) {
  return (block - size % block) % block;
}

}  // namespace

TarReader::TarReader(ReadSome bytes, std::string source)
    : bytes_(std::move(bytes)), source_(std::move(source)) {}

std::unexpected<base::Error> TarReader::damaged(std::string_view how) const {
  return base::fail(base::Fault::parse, fmt::format("{}: {}", source_, how));
}

Result<> TarReader::exactly(char* into, std::size_t count) {
  while (count > 0) {
    const std::size_t got = TRY(bytes_(into, count));
    if (got == 0) return damaged("truncated");
    into += got;
    count -= got;
  }
  return {};
}

Result<> TarReader::skip(std::uint64_t count) {
  std::array<char, 65536> buffer;
  while (count > 0) {
    const std::size_t piece = static_cast<std::size_t>(std::min<std::uint64_t>(count, buffer.size()));
    TRY(exactly(buffer.data(), piece));
    count -= piece;
  }
  return {};
}

Result<std::string> TarReader::text(std::uint64_t size) {
  if (size > largest_name) return damaged("a file name in it is too long");
  std::string text(static_cast<std::size_t>(size), '\0');
  TRY(exactly(text.data(), text.size()));
  TRY(skip(padding_of(size)));
  return text;
}

Result<std::optional<TarEntry>> TarReader::next() {
  TRY(skip(left_));
  TRY(skip(padding_));
  left_ = padding_ = 0;
  std::optional<std::string> long_name;
  Pax pax;
  while (true) {
    std::array<char, block> header{};
    TRY(exactly(header.data(), header.size()));
    const std::string_view all(header.data(), header.size());
    if (all.find_first_not_of('\0') == std::string_view::npos) return std::nullopt;
    const auto sum = number(all.substr(148, 8)), size = number(all.substr(124, 12));
    if (!sum || *sum != checksum(all) || !size) return damaged("invalid tar header");
    TarEntry entry{.type = all[156] == '\0' ? '0' : all[156], .size = *size};
    if (entry.type == 'L') {
      long_name = std::string(zero_ended(TRY(text(entry.size))));
      continue;
    }
    if (entry.type == 'x') {
      const auto read = read_pax(TRY(text(entry.size)));
      if (!read) return damaged("invalid pax header");
      pax = *read;
      continue;
    }
    if (entry.type == 'K' || entry.type == 'g') {
      (void)TRY(text(entry.size));
      continue;
    }
    const std::string_view prefix =
        all.substr(257, 6) == std::string_view("ustar\0", 6) ? zero_ended(all.substr(345, 155)) : "";
    entry.name =
        std::string(prefix) + (prefix.empty() ? "" : "/") + std::string(zero_ended(all.substr(0, 100)));
    if (long_name) entry.name = *long_name;
    if (pax.path) entry.name = *pax.path;
    if (pax.size) entry.size = *pax.size;
    left_ = entry.size;
    padding_ = padding_of(entry.size);
    return entry;
  }
}

Result<std::size_t> TarReader::read(char* into, std::size_t most) {
  const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, most));
  if (count == 0) return 0;
  const std::size_t got = TRY(bytes_(into, count));
  if (got == 0) return damaged("truncated");
  left_ -= got;
  return got;
}

std::string tar_header(std::string_view name, std::uint64_t size) {
  if (name.size() > 100) throw std::logic_error("the name is too long for the archive");
  std::string header(block, '\0');
  const auto put = [&](std::size_t at, std::string_view text) { text.copy(&header[at], text.size()); };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  if (size < (std::uint64_t{1} << 33)) {
    put(124, fmt::format("{:011o}", size));
  } else {
    header[124] = '\x80';
    for (std::size_t i = 0; i < 8; ++i) header[135 - i] = static_cast<char>(size >> (8 * i));
  }
  put(136, "00000000000");
  header[156] = '0';
  put(257, std::string_view("ustar\0"
                            "00",
                            8));
  put(148, fmt::format("{:06o}", checksum(header)));
  header[155] = ' ';
  return header;
}

std::string tar_padding(std::uint64_t size) {
  return std::string(static_cast<std::size_t>(padding_of(size)), '\0');
}

std::string tar_end() {
  return std::string(2 * block, '\0');
}

}  // namespace bundle
