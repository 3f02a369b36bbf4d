// The request of a client, and what a site answers. What is answered with 200 names the token.
#include "gpuadm/serve/site.hpp"

#include "serve/request.hpp"
#include "target.hpp"

#include <cstdlib>

void try_input(std::string_view input) {
  static const serve::Site site = [] {
    serve::Site made{base::Secret("0011223344556677")};
    made.add("", "text/html", [] { return std::string("page"); });
    return made;
  }();
  const auto request = serve::read_request(input);
  if (!request || request->kind == serve::Request::Kind::invalid) return;
  const serve::Response response = site.answer(*request);
  if (response.status == 200 && input.find("/0011223344556677/") == std::string_view::npos) std::abort();
  if (serve::to_text(response, false).find("HTTP/1.1 ") != 0) std::abort();
}
