#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace base {

/// An IPv4 or IPv6 network or address (an address has the full prefix).
struct Cidr {
  bool v6 = false;
  std::array<std::uint8_t, 16> address{};  ///< IPv4 uses the first four
  int prefix = 0;
  /// "10.244.0.0/16", "192.0.2.1", "fd00::/8". Host bits are kept.
  [[nodiscard]] static std::optional<Cidr> parse(std::string_view text);
  /// Whether the host bits are all zero.
  [[nodiscard]] bool is_network() const;
  [[nodiscard]] bool overlaps(const Cidr& other) const;
  [[nodiscard]] bool contains(const Cidr& other) const;
  [[nodiscard]] std::string text() const;
};

/// An address as in URLs, host:port and mount options: an IPv6 address in brackets, others unchanged.
[[nodiscard]] std::string in_brackets(const std::string& address);

/// RFC 1123 subdomain, at most 253 characters.
[[nodiscard]] bool is_dns_name(std::string_view text);

}  // namespace base
