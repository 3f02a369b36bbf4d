#include "gpuadm/serve/text_server.hpp"

#include "gpuadm/base/interrupt.hpp"
#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include "serve/connection.hpp"
#include "serve/request.hpp"
#include "serve/tls.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <utility>

namespace serve {

namespace {

using base::Fault;

constexpr std::size_t most_connections = 16;

std::string place_of(const Endpoint& endpoint) {
  return fmt::format("{}:{}", base::in_brackets(endpoint.address), endpoint.port);
}

Result<int> open_port(const Endpoint& endpoint) {
  sockaddr_storage storage{};
  socklen_t size = 0;
  if (auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
      ::inet_pton(AF_INET, endpoint.address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(endpoint.port);
    size = sizeof *v4;
  } else if (auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
             ::inet_pton(AF_INET6, endpoint.address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(endpoint.port);
    size = sizeof *v6;
  } else {
    return base::fail(Fault::usage, fmt::format("invalid address: {}", base::printable(endpoint.address, 80)),
                      "use an IPv4 or IPv6 address of this machine");
  }
  const int listener = ::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  if (listener >= 0) ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  constexpr int backlog = 64;
  if (listener >= 0 && ::bind(listener, reinterpret_cast<sockaddr*>(&storage), size) == 0 &&
      ::listen(listener, backlog) == 0)
    return listener;
  const int why = errno;
  if (listener >= 0) ::close(listener);
  return base::fail(
      Fault::usage, fmt::format("cannot listen on {}: {}", place_of(endpoint), std::strerror(why)),
      why == EADDRINUSE ? fmt::format("run ss -ltnp 'sport = :{}', or choose another port", endpoint.port)
                        : "use an address of this machine and a port from 1024 on");
}

Result<SSL_CTX*> read_key(const Endpoint& endpoint) {
  if (!tls().complete)
    return base::fail(Fault::usage, "OpenSSL's libssl was not found: neither libssl.so.3 nor libssl.so.1.1",
                      "install it, for example libssl3, or serve the metrics on loopback");
  SSL_CTX* context = tls().new_context(tls().server_method());
  if (context && tls().control(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr) == 1 &&
      tls().use_certificate(context, endpoint.certificate.c_str()) == 1 &&
      tls().use_key(context, endpoint.key.c_str(), SSL_FILETYPE_PEM) == 1 && tls().check_key(context) == 1) {
    tls().control(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, nullptr);
    tls().control(context, SSL_CTRL_MODE, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER,
                  nullptr);
    tls().set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    return context;
  }
  char why[200];
  tls().error_text(tls().next_error(), why, sizeof why);
  if (context) tls().free_context(context);
  return base::fail(Fault::usage,
                    fmt::format("cannot use the key {}: {}", base::printable(endpoint.key.string()), why),
                    "remove both files: they are made again");
}

using Connections = std::list<Connection>;

/// The oldest connection without an answer is closed for a new one: clients that send nothing exclude no
/// other.
void make_space(Connections& connections) {
  if (connections.size() < most_connections) return;
  const auto idle =
      std::ranges::find_if(connections, [](const Connection& one) { return !one.has_answer(); });
  connections.erase(idle == connections.end() ? connections.begin() : idle);
}

void accept_all(int listener, SSL_CTX* context, Connections& connections) {
  for (std::size_t i = 0; i < most_connections; ++i) {
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) return;
    make_space(connections);
    connections.emplace_back(client, context);
  }
}

std::string answer_to(const Request& request, std::string_view path, const TextServer::Source& source) {
  if (request.kind == Request::Kind::invalid) return response(400, "not a request of HTTP/1\n", false);
  if (request.kind == Request::Kind::other_method) return response(405, "only GET and HEAD\n", false);
  const bool head = request.kind == Request::Kind::head;
  if (request.path != path) return response(404, fmt::format("only {}\n", path), head);
  const auto text = source();
  return text ? response(200, *text, head) : response(503, text.error().what + "\n", head);
}

int milliseconds_to(Connection::Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Connection::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, 60'000));
}

}  // namespace

Result<TextServer> TextServer::open(const Endpoint& endpoint) {
  SSL_CTX* context = endpoint.key.empty() ? nullptr : TRY(read_key(endpoint));
  const auto listener = open_port(endpoint);
  if (listener) return TextServer(*listener, context);
  if (context) tls().free_context(context);
  return std::unexpected(listener.error());
}

TextServer::TextServer(TextServer&& other) noexcept
    : listener_(std::exchange(other.listener_, -1)), context_(std::exchange(other.context_, nullptr)) {}

TextServer::~TextServer() {
  if (listener_ >= 0) ::close(listener_);
  if (context_) tls().free_context(static_cast<SSL_CTX*>(context_));
}

Result<> TextServer::serve(std::string_view path, const Source& source) {
  base::Interrupt interrupt;
  Connections connections;
  while (true) {
    std::vector<pollfd> waits = {{interrupt.descriptor(), POLLIN, 0}, {listener_, POLLIN, 0}};
    int patience = -1;
    for (const Connection& one : connections) {
      waits.push_back({one.descriptor(), one.events(), 0});
      const int left = milliseconds_to(one.deadline());
      patience = patience < 0 ? left : std::min(patience, left);
    }
    if (::poll(waits.data(), waits.size(), patience) < 0 && errno != EINTR)
      return base::fail(Fault::bug, fmt::format("poll: {}", std::strerror(errno)));
    if (interrupt.count() > 0) return {};
    std::size_t at = 2;
    for (Connection& one : connections) {
      if (waits[at++].revents == 0) continue;
      if (!one.advance()) continue;
      if (const auto request = read_request(one.input())) one.answer(answer_to(*request, path, source));
    }
    const auto now = Connection::Clock::now();
    std::erase_if(connections,
                  [&](const Connection& one) { return !one.is_open() || one.deadline() <= now; });
    if (waits[1].revents != 0) accept_all(listener_, static_cast<SSL_CTX*>(context_), connections);
  }
}

}  // namespace serve
