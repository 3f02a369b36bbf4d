#include "gpuadm/transport/tunnel.hpp"

#include "gpuadm/base/random.hpp"
#include "gpuadm/base/text.hpp"

#include "transport/child.hpp"
#include "transport/ssh/keys/host_key.hpp"
#include "transport/ssh/openssh_client.hpp"
#include "transport/ssh/state.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace transport {

namespace {

using namespace std::chrono_literals;
using base::Fault;
using Argv = std::vector<std::string>;

constexpr auto between_tries = 200ms;
constexpr std::size_t most_words = 8u << 10;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// A port that is free now. ssh binds it later, and reports it if another program was faster.
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

/// Waits for the descriptors, at most until the deadline. Fault::interrupted if Ctrl-C was pressed.
Result<> wait_for(std::vector<pollfd> fds, base::Instant deadline, base::Interrupt& interrupt) {
  fds.push_back({interrupt.descriptor(), POLLIN, 0});
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - base::Clock::now()).count();
  ::poll(fds.data(), fds.size(), static_cast<int>(std::clamp<long long>(left, 0, 60'000)));
  if (fds.back().revents != 0 && interrupt.count() > 0) return base::fail(Fault::interrupted, "interrupted");
  return {};
}

Result<Config> config_of(Session& session, const std::string& host, const spec::Endpoint& endpoint,
                         base::Interrupt& interrupt) {
  const ConfigQuestion question{endpoint.address, endpoint.user, endpoint.port};
  const base::Instant deadline = base::Clock::now() + session.options.connect_timeout;
  while (true) {
    if (auto config = TRY(session.ssh->configs.ask(question))) return std::move(*config);
    if (base::Clock::now() >= deadline)
      return base::fail(Fault::unreachable, host + ": `ssh -G` did not answer in time",
                        "try: ssh -G " + endpoint.address);
    std::vector<pollfd> fds;
    session.ssh->configs.interests(question, fds);
    TRY(wait_for(std::move(fds), std::min(deadline, base::Clock::now() + between_tries), interrupt));
  }
}

/// The remote command returns what is written to it: the tunnel is open once the mark has returned, as
/// forwardings are established before a command. It ends, and ssh with it, when gpuadm ends.
Argv command_of(const Options& options, spec::HostKeys policy, const spec::Endpoint& endpoint,
                const TunnelEnd& end, std::uint16_t port) {
  Argv argv = openssh_client(options, policy, endpoint);
  const bool is_v6 = end.address.find(':') != std::string::npos;
  const std::string forward =
      fmt::format("127.0.0.1:{}:{}:{}", port, is_v6 ? "[" + end.address + "]" : end.address, end.port);
  argv.insert(argv.end(), {"-oControlMaster=no", "-oControlPath=none", "-oExitOnForwardFailure=yes", "-L",
                           forward, "--", endpoint.address, "cat"});
  return argv;
}

}  // namespace

struct Tunnel::State {
  Child child;
  Peer peer;
  std::uint16_t port = 0;
  std::string words;  ///< ssh's messages, the last ones

  void read_words() {
    while (child.err.is_open() && Child::read(child.err, words) == Child::Read::some)
      if (words.size() > most_words) words.erase(0, words.size() - most_words);
  }
  [[nodiscard]] std::string last_words() const { return base::tail(words, 3); }

  Result<> wait_until_open(base::Instant deadline, base::Interrupt& interrupt) {
    const std::string mark = TRY(base::random_secret(16)).reveal();
    std::string_view unsent = mark;
    std::string echoed;
    while (echoed.find(mark) == std::string::npos) {
      if (!unsent.empty()) {
        const ssize_t written = child.write(unsent);
        unsent.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
      }
      while (child.out.is_open() && Child::read(child.out, echoed) == Child::Read::some) {
      }
      if (echoed.size() > most_words) echoed.erase(0, echoed.size() - most_words);
      read_words();
      if (echoed.find(mark) != std::string::npos) break;
      if (child.status() || !child.out.is_open())
        return std::unexpected(openssh_failure(peer, last_words(), false));
      if (base::Clock::now() >= deadline)
        return base::fail(Fault::unreachable,
                          fmt::format("{}: the tunnel did not open in time: {}", peer.host, last_words()),
                          "try to log in manually: " + peer.login);
      std::vector<pollfd> fds;
      child.interests(fds, unsent.empty() ? Child::Writes::no : Child::Writes::yes);
      TRY(wait_for(std::move(fds), deadline, interrupt));
    }
    return {};
  }
};

Tunnel::Tunnel(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tunnel::Tunnel(Tunnel&&) noexcept = default;
Tunnel& Tunnel::operator=(Tunnel&&) noexcept = default;
Tunnel::~Tunnel() = default;

std::uint16_t Tunnel::port() const {
  return state_->port;
}

Result<Tunnel> open_tunnel(Session& session, const std::string& host, const spec::Endpoint& endpoint,
                           const TunnelEnd& end, std::uint16_t port, base::Interrupt& interrupt) {
  const Config config = TRY(config_of(session, host, endpoint, interrupt));
  const HostKeyCheck check(session, host, config, endpoint.address, endpoint.host_key);
  TRY(check.pinned_is_not_revoked());
  auto state = std::make_unique<Tunnel::State>();
  state->peer = openssh_peer(host, endpoint);
  state->port = TRY(free_port(port));
  state->child = TRY(Child::spawn(command_of(session.options, check.policy(), endpoint, end, state->port),
                                  Child::Wiring::pipes));
  TRY(state->wait_until_open(base::Clock::now() + session.options.connect_timeout, interrupt));
  return Tunnel(std::move(state));
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
  // ssh reports why a connection was refused a moment after it has closed it.
  pollfd said{state_->child.err.get(), POLLIN, 0};
  if (answer.empty() && state_->child.err.is_open()) ::poll(&said, 1, 1000);
  state_->read_words();
  const std::string why = answer.empty() ? state_->last_words() : "it is not a web server";
  return base::fail(Fault::unreachable,
                    fmt::format("{}: the host does not forward the connection: {}", state_->peer.host,
                                why.empty() ? "it was closed" : why),
                    "AllowTcpForwarding must be yes or local in the host's sshd_config");
}

Result<> Tunnel::hold(base::Interrupt& interrupt) {
  std::string ignored;
  while (!state_->child.status()) {
    while (state_->child.out.is_open() && Child::read(state_->child.out, ignored) == Child::Read::some)
      ignored.clear();
    state_->read_words();
    std::vector<pollfd> fds;
    state_->child.interests(fds, Child::Writes::no);
    if (!wait_for(std::move(fds), base::Clock::now() + 60s, interrupt)) return {};
  }
  state_->read_words();
  return std::unexpected(openssh_failure(state_->peer, state_->last_words(), true));
}

}  // namespace transport
