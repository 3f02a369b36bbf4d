#pragma once

#include <string>
#include <string_view>

namespace report {

/// Text made printable and safe between tags and in attributes of XML and HTML.
[[nodiscard]] std::string escape(std::string_view text);

}  // namespace report
