// The request of a client, and what a site answers. What is answered with 200 names the token.
#include "gpuadm/http/site.hpp"

#include "http/request.hpp"
#include "target.hpp"

#include <cstdlib>

void try_input(std::string_view input) {
  static const http::Site site = [] {
    http::Site made{base::Secret("0011223344556677")};
    made.add("", "text/html", [] { return std::string("page"); });
    return made;
  }();
  const auto request = http::read_request(input);
  if (!request || request->kind == http::Request::Kind::invalid) return;
  const http::Response response = site.answer(*request);
  if (response.status == 200 && input.find("/0011223344556677/") == std::string_view::npos) std::abort();
  if (http::to_text(response, false).find("HTTP/1.1 ") != 0) std::abort();
}
