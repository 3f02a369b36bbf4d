#include "gpuadm/base/network.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>

namespace base {

std::optional<Cidr> Cidr::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string address(text.substr(0, slash));
  Cidr cidr;
  if (::inet_pton(AF_INET, address.c_str(), cidr.address.data()) == 1)
    cidr.v6 = false;
  else if (::inet_pton(AF_INET6, address.c_str(), cidr.address.data()) == 1)
    cidr.v6 = true;
  else
    return std::nullopt;
  const int most = cidr.v6 ? 128 : 32;
  cidr.prefix = most;
  if (slash != std::string_view::npos) {
    const auto prefix = to_int(text.substr(slash + 1));
    if (!prefix || *prefix < 0 || *prefix > most) return std::nullopt;
    cidr.prefix = static_cast<int>(*prefix);
  }
  return cidr;
}

namespace {
bool bit(const Cidr& cidr, int index) {
  return (cidr.address[static_cast<std::size_t>(index / 8)] >> (7 - index % 8)) & 1;
}
bool same_prefix(const Cidr& a, const Cidr& b, int bits) {
  for (int i = 0; i < bits; ++i)
    if (bit(a, i) != bit(b, i)) return false;
  return true;
}
}  // namespace

bool Cidr::is_network() const {
  for (int i = prefix; i < (v6 ? 128 : 32); ++i)
    if (bit(*this, i)) return false;
  return true;
}

bool Cidr::overlaps(const Cidr& other) const {
  return v6 == other.v6 && same_prefix(*this, other, std::min(prefix, other.prefix));
}

bool Cidr::contains(const Cidr& other) const {
  return v6 == other.v6 && prefix <= other.prefix && same_prefix(*this, other, prefix);
}

std::string Cidr::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  ::inet_ntop(v6 ? AF_INET6 : AF_INET, address.data(), buffer.data(), buffer.size());
  return fmt::format("{}/{}", buffer.data(), prefix);
}

std::string in_brackets(const std::string& address) {
  const bool is_v6 = std::ranges::count(address, ':') > 1 && !address.starts_with('[');
  return is_v6 ? "[" + address + "]" : address;
}

bool is_partial_ipv4(const std::string& text) {
  in_addr address{};
  if (text.empty() || ::inet_pton(AF_INET, text.c_str(), &address) == 1) return false;
  return text.find_first_not_of("0123456789.") == std::string::npos ||
         ::inet_aton(text.c_str(), &address) != 0;
}

bool is_dns_name(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  return std::ranges::all_of(split(text, '.'), [](std::string_view label) {
    const auto word = [](char c) {
      return std::islower(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c));
    };
    return !label.empty() && label.size() <= 63 && word(label.front()) && word(label.back()) &&
           std::ranges::all_of(label, [&](char c) { return word(c) || c == '-'; });
  });
}

}  // namespace base
