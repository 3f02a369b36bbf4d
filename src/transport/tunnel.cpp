#include "gpuadm/transport/tunnel.hpp"

#include "gpuadm/base/text.hpp"

#include "transport/ssh/openssh_client.hpp"
#include "transport/tunnel_state.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace transport {

namespace {

using base::Fault;
using Program = TunnelState::Program;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

void TunnelState::read_words() {
  while (child.err.is_open() && Child::read(child.err, words) == Child::Read::some)
    if (words.size() > tunnel_most_words) words.erase(0, words.size() - tunnel_most_words);
}

std::string TunnelState::last_words() const {
  return base::tail(words, 3);
}

Result<std::uint16_t> free_port(std::uint16_t requested) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = loopback(requested);
  socklen_t size = sizeof address;
  if (!socket.is_open() || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return base::fail(Fault::usage,
                      fmt::format("port {} of this machine: {}", requested, std::strerror(errno)),
                      "select another port, or omit the option");
  return ntohs(address.sin_port);
}

Result<> wait_for(std::vector<pollfd> fds, base::Instant deadline, base::Interrupt& interrupt) {
  fds.push_back({interrupt.descriptor(), POLLIN, 0});
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - base::Clock::now()).count();
  ::poll(fds.data(), fds.size(), static_cast<int>(std::clamp<long long>(left, 0, 60'000)));
  if (fds.back().revents != 0 && interrupt.count() > 0) return base::fail(Fault::interrupted, "interrupted");
  return {};
}

Tunnel::Tunnel(std::unique_ptr<TunnelState> state) : state_(std::move(state)) {}
Tunnel::Tunnel(Tunnel&&) noexcept = default;
Tunnel& Tunnel::operator=(Tunnel&&) noexcept = default;
Tunnel::~Tunnel() = default;

std::uint16_t Tunnel::port() const {
  return state_->port;
}

Result<Tunnel> open_tunnel(Session& session, const std::string& host, const spec::Endpoint& endpoint,
                           const TunnelEnd& end, std::uint16_t port, base::Interrupt& interrupt) {
  return Tunnel(TRY(endpoint.kubeconfig.empty()
                        ? open_ssh_tunnel(session, host, endpoint, end, port, interrupt)
                        : forward_port(endpoint, end, port, interrupt)));
}

Result<> Tunnel::check_http(const std::string& path, std::chrono::seconds timeout) {
  const base::Instant deadline = base::Clock::now() + timeout;
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(state_->port);
  const std::string request =
      fmt::format("GET {} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n\r\n", path, state_->port);
  if (!socket.is_open() ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(request.size()))
    return base::fail(Fault::unreachable,
                      fmt::format("the tunnel does not accept connections: {}", std::strerror(errno)));
  constexpr std::string_view expected = "HTTP/1.";
  std::string answer;
  while (answer.size() < expected.size()) {
    pollfd ready{socket.get(), POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - base::Clock::now()).count();
    const int polled = left > 0 ? ::poll(&ready, 1, static_cast<int>(left)) : 0;
    if (polled < 0 && errno == EINTR) continue;
    if (polled == 0)
      return base::fail(Fault::timeout,
                        fmt::format("{}: no answer through the tunnel within {}", state_->peer.host,
                                    base::human_seconds(static_cast<double>(timeout.count()))));
    char buffer[512];
    const ssize_t got = ::recv(socket.get(), buffer, sizeof buffer, 0);
    if (got <= 0) break;
    answer.append(buffer, static_cast<std::size_t>(got));
  }
  if (answer.starts_with(expected)) return {};
  // The program reports why a connection was refused a moment after it has closed it.
  pollfd said{state_->child.err.get(), POLLIN, 0};
  if (answer.empty() && state_->child.err.is_open()) ::poll(&said, 1, 1000);
  state_->read_words();
  const std::string why = answer.empty() ? state_->last_words() : "it is not a web server";
  return base::fail(Fault::unreachable,
                    fmt::format("{}: {} does not forward the connection: {}", state_->peer.host,
                                state_->program == Program::ssh ? "the host" : "kubectl port-forward",
                                why.empty() ? "it was closed" : why),
                    state_->program == Program::ssh
                        ? "AllowTcpForwarding must be yes or local in the host's sshd_config"
                        : "");
}

Result<> Tunnel::hold(base::Interrupt& interrupt) {
  std::string ignored;
  while (!state_->child.status() && !has_lost_pod(*state_)) {
    while (state_->child.out.is_open() && Child::read(state_->child.out, ignored) == Child::Read::some)
      ignored.clear();
    state_->read_words();
    if (has_lost_pod(*state_)) break;
    std::vector<pollfd> fds;
    state_->child.interests(fds, Child::Writes::no);
    if (!wait_for(std::move(fds), base::Clock::now() + std::chrono::seconds(60), interrupt)) return {};
  }
  state_->read_words();
  if (state_->program == Program::ssh)
    return std::unexpected(openssh_failure(state_->peer, state_->last_words(), true));
  return base::fail(Fault::unreachable,
                    fmt::format("{}: kubectl port-forward: {}", state_->peer.host, state_->last_words()));
}

}  // namespace transport
