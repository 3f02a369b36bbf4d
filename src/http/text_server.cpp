#include "gpuadm/http/text_server.hpp"

#include "gpuadm/base/interrupt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace http {

namespace {

constexpr const char* prometheus_type = "text/plain; version=0.0.4; charset=utf-8";

int milliseconds_to(base::Instant deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - base::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, 60'000));
}

}  // namespace

Result<TextServer> TextServer::open(const Endpoint& endpoint) {
  auto handler = std::make_shared<Server::Handler>();
  Server server =
      TRY(Server::open(endpoint, [handler](const Request& request) { return (*handler)(request); }));
  return TextServer(std::move(server), std::move(handler));
}

Result<> TextServer::serve(std::string_view path, const Source& source) {
  *handler_ = [path, &source](const Request& request) -> Response {
    if (request.path != path)
      return {.status = 404, .text = fmt::format("only {}\n", path), .type = prometheus_type};
    const auto text = source();
    return text ? Response{.text = *text, .type = prometheus_type}
                : Response{.status = 503, .text = text.error().what + "\n", .type = prometheus_type};
  };
  base::Interrupt interrupt;
  while (true) {
    std::vector<pollfd> waits = {{interrupt.descriptor(), POLLIN, 0}};
    server_.interests(waits);
    const auto wake = server_.wake();
    if (::poll(waits.data(), waits.size(), wake ? milliseconds_to(*wake) : -1) < 0 && errno != EINTR)
      return base::fail(base::Fault::bug, fmt::format("poll: {}", std::strerror(errno)));
    if (interrupt.count() > 0) return {};
    server_.advance();
  }
}

}  // namespace http
