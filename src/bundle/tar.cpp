#include "gpuadm/bundle/pack.hpp"

#include <fmt/format.h>

#include <stdexcept>

// The format: POSIX.1-2017, pax, "ustar Interchange Format"; GNU tar manual, "Basic Tar Format" (sizes in
// base 256). Written here and not by libarchive: the digest of an image's archive is in the bundle's
// manifest, so its bytes must not depend on a library's version.

namespace bundle {

namespace {

constexpr std::size_t block = 512;

/// The checksum of a header: the sum of its bytes, with its own field as spaces.
std::uint64_t checksum(std::string_view header) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < header.size(); ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  return sum;
}

std::uint64_t padding_of(std::uint64_t size) {
  return (block - size % block) % block;
}

}  // namespace

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
