#pragma once

#include <string_view>

namespace base {

/// Less than, equal to, or greater than 0, as dpkg orders versions:
/// https://www.debian.org/doc/debian-policy/ch-controlfields.html#version
[[nodiscard]] int compare_debian_versions(std::string_view a, std::string_view b);

}  // namespace base
