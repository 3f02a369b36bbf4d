#include "gpuadm/http/site.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <string_view>

namespace http {

namespace {

/// Scripts, styles and data come from the site only; nothing else is loaded, and nothing is sent.
constexpr const char* policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::vector<std::pair<std::string, std::string>> safe_headers() {
  return {{"Content-Security-Policy", policy},
          {"Cache-Control", "no-store"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"X-Frame-Options", "DENY"}};
}

/// "127.0.0.1:4711", "localhost", "[::1]:4711". The port may be that of a tunnel.
bool is_loopback(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) {
    const std::string_view port = host.substr(colon + 1);
    if (port.empty() || port.size() > 5 ||
        !std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; }))
      return false;
    host = host.substr(0, colon);
  }
  return host == "127.0.0.1" || host == "localhost" || host == "[::1]";
}

/// In a time that does not depend on where they differ.
bool are_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

void Site::add(const std::string& name, std::string type, Source source) {
  resources_.insert_or_assign(name, Resource{std::move(type), std::move(source)});
}

Response Site::answer(const Request& request) const {
  Response response{.status = 403, .text = {}, .headers = safe_headers()};
  if (!is_loopback(request.host)) {
    response.text = "only under the name 127.0.0.1 or localhost\n";
    return response;
  }
  const std::string_view path = std::string_view(request.path).substr(request.path.empty() ? 0 : 1);
  const std::size_t slash = path.find('/');
  if (token_.empty() || !are_equal(path.substr(0, slash), token_.reveal())) {
    response.text = "open the address that gpuadm dashboard printed\n";
    return response;
  }
  const auto found =
      slash == std::string_view::npos ? resources_.end() : resources_.find(path.substr(slash + 1));
  if (found == resources_.end()) {
    response.status = 404;
    response.text = "there is no such page; the address of the dashboard ends in /\n";
    return response;
  }
  response.status = 200;
  response.type = found->second.type;
  response.text = found->second.source();
  return response;
}

std::string Site::address(std::uint16_t port) const {
  return fmt::format("http://127.0.0.1:{}/{}/", port, token_.reveal());
}

}  // namespace http
