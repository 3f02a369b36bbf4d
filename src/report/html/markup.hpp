#pragma once

#include <string>
#include <string_view>

namespace report {

/// Text made printable and safe between tags and in attributes of XML and HTML.
[[nodiscard]] std::string escape(std::string_view text);

/// A page that loads nothing from elsewhere. `title`: text; `style`: CSS; `body`: HTML.
[[nodiscard]] std::string page_of(std::string_view title, std::string_view style, std::string_view body);

}  // namespace report
