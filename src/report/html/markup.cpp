#include "report/html/markup.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace report {

std::string escape(std::string_view text) {
  std::string safe = base::printable(text);
  for (const auto& [from, to] :
       {std::pair{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}})
    safe = base::replace_all(std::move(safe), from, to);
  return safe;
}

std::string page_of(std::string_view title, std::string_view style, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      escape(title), style, body);
}

}  // namespace report
