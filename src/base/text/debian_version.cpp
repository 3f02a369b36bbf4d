#include "gpuadm/base/debian_version.hpp"

#include <algorithm>

namespace base {

namespace {

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

/// Sort order of a character outside of digits: a tilde before the end, letters before everything else.
int order(std::string_view text) {
  if (text.empty() || is_decimal(text.front())) return 0;
  const char c = text.front();
  if (c == '~') return -1;
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter ? c : static_cast<unsigned char>(c) + 256;
}

/// Removes the leading digits, without leading zeros.
std::string_view take_number(std::string_view& text) {
  const auto end = static_cast<std::size_t>(std::ranges::find_if_not(text, is_decimal) - text.begin());
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

int compare_parts(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    while ((!a.empty() && !is_decimal(a.front())) || (!b.empty() && !is_decimal(b.front()))) {
      if (const int less = order(a) - order(b); less != 0) return less;
      if (!a.empty()) a.remove_prefix(1);
      if (!b.empty()) b.remove_prefix(1);
    }
    const std::string_view x = take_number(a), y = take_number(b);
    if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
    if (const int less = x.compare(y); less != 0) return less;
  }
  return 0;
}

struct DebianVersion {
  std::string_view epoch, upstream, revision;
};
DebianVersion split_version(std::string_view text) {
  DebianVersion version{.epoch = {}, .upstream = text, .revision = {}};
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    version.epoch = text.substr(0, colon);
    version.upstream = text.substr(colon + 1);
  }
  if (const std::size_t dash = version.upstream.rfind('-'); dash != std::string_view::npos) {
    version.revision = version.upstream.substr(dash + 1);
    version.upstream = version.upstream.substr(0, dash);
  }
  return version;
}

}  // namespace

int compare_debian_versions(std::string_view a, std::string_view b) {
  const DebianVersion x = split_version(a), y = split_version(b);
  if (const int less = compare_parts(x.epoch, y.epoch); less != 0) return less;
  if (const int less = compare_parts(x.upstream, y.upstream); less != 0) return less;
  return compare_parts(x.revision, y.revision);
}

}  // namespace base
