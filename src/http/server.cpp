#include "gpuadm/http/server.hpp"

#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include "http/connection.hpp"
#include "http/request.hpp"
#include "http/tls.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <utility>

namespace http {

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
void make_ns(Connections& connections) {
  if (connections.size() < most_connections) return;
  const auto idle =
      std::ranges::find_if(connections, [](const Connection& one) { return !one.has_answer(); });
  connections.erase(idle == connections.end() ? connections.begin() : idle);
}

void accept_all(int listener, SSL_CTX* context, Connections& connections) {
  for (std::size_t i = 0; i < most_connections; ++i) {
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) return;
    make_ns(connections);
    connections.emplace_back(client, context);
  }
}

Response answer_to(const Request& request, const Server::Handler& handler) {
  if (request.kind == Request::Kind::invalid) return {.status = 400, .text = "not a request of HTTP/1\n"};
  if (request.kind == Request::Kind::other_method)
    return {.status = 405, .text = "only GET and HEAD\n", .headers = {{"Allow", "GET, HEAD"}}};
  return handler(request);
}

}  // namespace

struct Server::State {
  int listener = -1;
  SSL_CTX* context = nullptr;  ///< nullptr: without TLS
  Handler handler;
  Connections connections = {};
  State(int opened, SSL_CTX* key, Handler calls)
      : listener(opened), context(key), handler(std::move(calls)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    connections.clear();
    if (listener >= 0) ::close(listener);
    if (context) tls().free_context(context);
  }
};

Result<Server> Server::open(const Endpoint& endpoint, Handler handler) {
  SSL_CTX* context = endpoint.key.empty() ? nullptr : TRY(read_key(endpoint));
  auto state = std::make_unique<State>(-1, context, std::move(handler));
  state->listener = TRY(open_port(endpoint));
  return Server(std::move(state));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::Server(Server&& other) noexcept = default;
Server::~Server() = default;

std::uint16_t Server::port() const {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(state_->listener, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  // Both kinds of address have the port at the same place.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

void Server::interests(std::vector<pollfd>& into) const {
  into.push_back({state_->listener, POLLIN, 0});
  for (const Connection& one : state_->connections) into.push_back({one.descriptor(), one.events(), 0});
}

std::optional<base::Instant> Server::wake() const {
  std::optional<base::Instant> first;
  for (const Connection& one : state_->connections)
    first = std::min(first.value_or(one.deadline()), one.deadline());
  return first;
}

void Server::advance() {
  for (Connection& one : state_->connections) {
    if (!one.advance()) continue;
    if (const auto request = read_request(one.input()))
      one.answer(to_text(answer_to(*request, state_->handler), request->kind == Request::Kind::head));
  }
  const auto now = base::Clock::now();
  std::erase_if(state_->connections,
                [&](const Connection& one) { return !one.is_open() || one.deadline() <= now; });
  accept_all(state_->listener, state_->context, state_->connections);
}

}  // namespace http
