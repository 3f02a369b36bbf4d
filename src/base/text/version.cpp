#include "gpuadm/base/version.hpp"

#include <fmt/format.h>

#include <charconv>

namespace base {

std::optional<Version> Version::parse(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  Version version;
  for (int* part : {&version.major, &version.minor, &version.patch}) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *part);
    if (error != std::errc() || *part < 0)
      return part == &version.major ? std::nullopt : std::optional(version);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  return version;
}

std::string Version::text() const {
  if (minor < 0) return std::to_string(major);
  return patch < 0 ? minor_text() : fmt::format("{}.{}.{}", major, minor, patch);
}

std::string Version::minor_text() const {
  return fmt::format("{}.{}", major, minor);
}

}  // namespace base
