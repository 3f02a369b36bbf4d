#include "gpuadm/base/files.hpp"
#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include "facts/text/redact_text.hpp"

#include <algorithm>

/// Numbers that name a machine: identifiers and addresses.
namespace facts {

namespace {

/// Number of leading bits of an address that show its type and are kept; 32 and more: the whole address.
int kept_bits(const base::Cidr& cidr) {
  const auto& a = cidr.address;
  if (cidr.v6) {
    const bool zero = std::all_of(a.begin(), a.begin() + 15, [](std::uint8_t byte) { return byte == 0; });
    return zero || a[0] == 0xff ? 128 : 16;
  }
  if (a[0] == 0 || a[0] == 127 || a[0] >= 224 || (a[0] == 169 && a[1] == 254)) return 32;
  if (a[0] == 10) return 8;
  if (a[0] == 172 && (a[1] & 0xf0) == 16) return 12;
  if (a[0] == 100 && (a[1] & 0xc0) == 64) return 10;
  // So that no public address becomes private.
  return a[0] == 192 || a[0] == 172 || a[0] == 100 || a[0] == 169 ? 16 : 8;
}

/// Whether a text matches a pattern in which x is a hex digit.
bool has_form(std::string_view text, std::string_view form) {
  return text.size() == form.size() && std::ranges::equal(text, form, [](char have, char want) {
           return want == 'x' ? is_hex(have) : have == want;
         });
}

constexpr std::string_view uuid_form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
constexpr std::string_view mac_form = "xx:xx:xx:xx:xx:xx";

}  // namespace

/// Other hex digits in the same positions; only zeros or ones ("not set") are kept.
std::string Redactor::digits(std::string_view like) {
  const auto filler = [&](char c) {
    return std::ranges::all_of(like, [&](char have) { return !is_hex(have) || have == c; });
  };
  if (filler('0') || filler('f') || filler('F')) return std::string(like);
  ++ids_;
  const std::string hash = base::sha256(salt_ + base::lower(like)) + base::sha256(base::lower(like) + salt_);
  std::string text(like);
  for (std::size_t i = 0; i < text.size(); ++i)
    if (is_hex(text[i])) text[i] = hash[i % hash.size()];
  return text;
}

/// Each bit is flipped depending on the bits before it, so that addresses in a common network remain in one.
std::string Redactor::address(std::string_view text) {
  if (const auto known = seen_.find(text); known != seen_.end()) return known->second;
  const auto slash = text.find('/');
  auto cidr = *base::Cidr::parse(text);
  const bool network = slash != text.npos && cidr.is_network();
  const int width = cidr.v6 ? 128 : 32;
  const auto original = cidr.address;
  std::string before(salt_);
  for (int bit = 0; bit < width; ++bit) {
    const auto byte = static_cast<std::size_t>(bit) / 8;
    const auto mask = static_cast<std::uint8_t>(0x80 >> (bit % 8));
    const bool set = (original[byte] & mask) != 0;
    const bool host_bit = network && bit >= cidr.prefix;
    if (bit >= kept_bits(base::Cidr{cidr.v6, original, width}) && !host_bit && base::sha256(before)[0] >= '8')
      cidr.address[byte] ^= mask;
    before += set ? '1' : '0';
  }
  std::string result = cidr.text();
  if (slash == text.npos) result = result.substr(0, result.find('/'));
  return seen_.emplace(text, result).first->second;
}

bool Redactor::take_number(Place& place) {
  const std::string_view uuid = place.text.substr(place.at, uuid_form.size());
  if (has_form(uuid, uuid_form)) {
    place.replace(uuid.size(), digits(uuid));
    return true;
  }
  const std::string_view mac = place.text.substr(place.at, mac_form.size());
  const std::string_view number =
      run(place.text, place.at, [](char c) { return is_hex(c) || c == ':' || c == '.'; });
  if (has_form(mac, mac_form) && number.size() == mac.size()) {
    const bool broadcast = base::lower(mac) == "ff:ff:ff:ff:ff:ff";
    place.replace(mac.size(),
                  broadcast ? std::string(mac) : std::string(mac.substr(0, 9)) + digits(mac).substr(9));
    return true;
  }
  const std::string_view hex = run(place.text, place.at, is_hex);
  if ((hex.size() == 32 || hex.size() == 64) && !place.text.substr(0, place.at).ends_with("sha256:")) {
    place.replace(hex.size(), digits(hex));
    return true;
  }
  // An address of /proc/net/tcp; 0100007F is 127.0.0.1.
  if (hex.size() == 8 && hex != "0100007F" && place.text.substr(place.at + 8).starts_with(':')) {
    place.replace(hex.size(), digits(hex));
    return true;
  }
  std::string_view found = number;
  while (!found.empty() && (found.ends_with('.') || (found.ends_with(':') && !found.ends_with("::"))))
    found.remove_suffix(1);
  const bool dotted = std::ranges::count(found, '.') == 3 && found.find(':') == found.npos;
  const auto colon = found.find(':');
  if (!dotted && colon != found.npos && std::ranges::count(found.substr(0, colon), '.') == 3)
    found = found.substr(0, colon);  // 192.0.2.1:6443
  if (place.at > 1 && place.text[place.at - 1] == '.' && is_hex(place.text[place.at - 2])) return false;
  if (std::ranges::count(found, '.') != 3 && std::ranges::count(found, ':') < 2) return false;
  if (!base::Cidr::parse(found)) return false;
  const std::string_view rest = place.text.substr(place.at + found.size());
  if (!rest.empty() && is_word(rest[0])) return false;
  std::string_view whole = found;
  if (rest.starts_with('/')) {
    const auto prefix = run(rest, 1, [](char c) { return c >= '0' && c <= '9'; });
    whole = place.text.substr(place.at, found.size() + 1 + prefix.size());
    if (prefix.empty() || !base::Cidr::parse(whole)) whole = found;
  }
  place.replace(whole.size(), address(whole));
  return true;
}

std::string_view serial_in(std::string_view text) {
  const std::string low = base::lower(text);
  const auto at = low.find("serial");
  if (at == low.npos) return {};
  const auto from = text.find_first_of(">:", at);
  if (from == text.npos) return {};
  const std::string_view value = base::trim(text.substr(from + 1, text.find('<', from) - from - 1));
  return value == "N/A" || value.size() < 4 ? std::string_view() : value;
}

}  // namespace facts
