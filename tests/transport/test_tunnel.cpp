#include "gpuadm/transport/tunnel.hpp"

#include <doctest/doctest.h>
//
#include "sshd.hpp"

using namespace testing_transport;

namespace {

/// A web server with one answer, in a thread.
class WebServer {
 public:
  explicit WebServer(std::string answer)
      : answer_(std::move(answer)), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(socket_.get(), 4) == 0);
    REQUIRE(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~WebServer() {
    ::shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
  }
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  std::uint16_t port = 0;

 private:
  void serve() {
    while (true) {
      const transport::Descriptor client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.is_open()) return;
      char request[512];
      (void)::recv(client.get(), request, sizeof request, 0);
      (void)::send(client.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
    }
  }
  std::string answer_;
  transport::Descriptor socket_;
  std::thread thread_;
};

struct Opener {
  Opener(const Sshd& sshd, transport::Options options, spec::Endpoint to)
      : session(transport::make_session(std::move(options), {})), endpoint(std::move(to)) {
    sshd.make_known();
  }
  base::Result<transport::Tunnel> open(std::uint16_t remote, std::uint16_t local = 0) {
    return transport::open_tunnel(*session, "gpu7", endpoint, {"127.0.0.1", remote}, local, interrupt);
  }
  base::Interrupt interrupt;
  transport::SessionPtr session;
  spec::Endpoint endpoint;
};

}  // namespace

TEST_CASE("a tunnel forwards to an address that the host reaches, and ends with its object") {
  if (!can_serve()) return;
  Sshd sshd;
  WebServer server("HTTP/1.1 200 OK\r\n\r\n{}");
  Opener client(sshd, sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  std::uint16_t port = 0;
  {
    auto tunnel = client.open(server.port);
    if (!tunnel) FAIL(tunnel.error().what);
    port = tunnel->port();
    CHECK(tunnel->check_http("/api", 5s));
    CHECK(tunnel->check_http("/api", 5s));
  }
  for (int i = 0; i < 100 && listens(port); ++i) std::this_thread::sleep_for(10ms);
  CHECK_FALSE(listens(port));
}

TEST_CASE("a tunnel uses the requested port, or reports that it is in use") {
  if (!can_serve()) return;
  Sshd sshd;
  Opener client(sshd, sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  const std::uint16_t port = free_port();
  auto tunnel = client.open(sshd.port, port);
  if (!tunnel) FAIL(tunnel.error().what);
  CHECK(tunnel->port() == port);
  const auto second = client.open(sshd.port, port);
  REQUIRE_FALSE(second);
  CHECK(second.error().fault == base::Fault::usage);
  CHECK(second.error().what.find("in use") != std::string::npos);
}

TEST_CASE("a tunnel that reaches no web server says why") {
  if (!can_serve()) return;
  Sshd sshd;
  Opener client(sshd, sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  auto nowhere = client.open(free_port());
  if (!nowhere) FAIL(nowhere.error().what);
  const auto refused = nowhere->check_http("/api", 5s);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("refused") != std::string::npos);
  auto other = client.open(sshd.port);
  if (!other) FAIL(other.error().what);
  const auto not_http = other->check_http("/api", 5s);
  REQUIRE_FALSE(not_http);
  CHECK(not_http.error().what.find("not a web server") != std::string::npos);
}

TEST_CASE("a host that forbids forwarding is named when it refuses") {
  if (!can_serve()) return;
  Sshd sshd("AllowTcpForwarding no\n");
  Opener client(sshd, sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  auto tunnel = client.open(sshd.port);
  if (!tunnel) FAIL(tunnel.error().what);
  const auto refused = tunnel->check_http("/api", 5s);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("prohibited") != std::string::npos);
  CHECK(refused.error().hint.find("AllowTcpForwarding") != std::string::npos);
}

TEST_CASE("a tunnel is refused for an unknown host key and an unknown key, as a command is") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  sshd.make_key("other", "ed25519");
  Opener client(sshd, sshd.options(), sshd.endpoint((sshd.place.path / "other").string()));
  const auto denied = client.open(sshd.port);
  REQUIRE_FALSE(denied);
  CHECK(denied.error().fault == base::Fault::auth);
  auto options = sshd.options();
  options.host_keys = spec::HostKeys::strict;
  options.known_hosts = sshd.place.path / "none";
  client.session = transport::make_session(options, {});
  client.endpoint = sshd.endpoint(key);
  const auto unknown = client.open(sshd.port);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().fault == base::Fault::host_key);
}

TEST_CASE("a tunnel that loses its connection ends with an error") {
  if (!can_serve()) return;
  Sshd sshd;
  Opener client(sshd, sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  auto tunnel = client.open(sshd.port);
  if (!tunnel) FAIL(tunnel.error().what);
  sshd.kill_connections();
  const auto lost = tunnel->hold(client.interrupt);
  REQUIRE_FALSE(lost);
  CHECK(lost.error().fault == base::Fault::unreachable);
}

TEST_CASE("Ctrl-C ends a tunnel without an error") {
  if (!can_serve()) return;
  Sshd sshd;
  Opener client(sshd, sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  auto tunnel = client.open(sshd.port);
  if (!tunnel) FAIL(tunnel.error().what);
  std::thread later([] {
    std::this_thread::sleep_for(200ms);
    ::kill(::getpid(), SIGINT);
  });
  CHECK(tunnel->hold(client.interrupt));
  later.join();
}
