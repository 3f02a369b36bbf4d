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

/// Whether a text looks like an IPv4 address but is not a complete one: "5", "1.7", "580.65.06", "0x7f.1".
/// The C library resolves many of them, "5" as 0.0.0.5.
[[nodiscard]] bool is_partial_ipv4(const std::string& text);

/// RFC 1123 subdomain, at most 253 characters.
[[nodiscard]] bool is_dns_name(std::string_view text);

}  // namespace base
