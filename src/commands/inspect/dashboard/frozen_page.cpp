#include "commands/inspect/dashboard/frozen_page.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;

/// A source of a Content-Security-Policy: the digest of an element's text.
std::string source_of(const std::string& text) {
  const std::string hex = base::sha256(text);
  std::string bytes;
  const auto digit = [&](std::size_t at) { return hex[at] <= '9' ? hex[at] - '0' : hex[at] - 'a' + 10; };
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(digit(i) * 16 + digit(i + 1));
  return "'sha256-" + base::base64(bytes) + "'";
}

/// JSON in which no element of HTML can begin or end.
std::string in_element(const std::string& json) {
  return base::replace_all(json, "<", "\\u003c");
}

base::Result<std::string> replaced(const std::string& page, std::string_view element, const std::string& by) {
  const std::size_t at = page.find(element);
  if (at == std::string::npos)
    return base::fail(Fault::usage, fmt::format("templates/dashboard/page.html has no {}", element),
                      "gpuadm assets diff shows what your assets change");
  return page.substr(0, at) + by + page.substr(at + element.size());
}

}  // namespace

base::Result<std::string> frozen_page(const PageFiles& files, const std::string& live,
                                      const std::string& cluster) {
  const std::string policy = fmt::format(
      "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'\">",
      source_of(files.script), source_of(files.style));
  std::string page = TRY(replaced(files.page, "<meta charset=\"utf-8\">", policy));
  page = TRY(replaced(page, "<link rel=\"stylesheet\" href=\"dashboard.css\">",
                      "<style>" + files.style + "</style>"));
  return replaced(page, "<script src=\"dashboard.js\"></script>",
                  fmt::format("<script type=\"application/json\" id=\"frozen-live\">{}</script>\n"
                              "<script type=\"application/json\" id=\"frozen-cluster\">{}</script>\n"
                              "<script>{}</script>",
                              in_element(live), in_element(cluster), files.script));
}

}  // namespace commands
