#include <doctest/doctest.h>
//
#include "sshd.hpp"

#include <dlfcn.h>
#include <netdb.h>

#include <atomic>

using namespace testing_transport;

// libssh2 1.10 loses its half of a curve25519 exchange when a handshake is given up in the middle.
extern "C" const char* __lsan_default_suppressions();  // NOLINT: the sanitizer's name
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libssh2.so\n";
}  // NOLINT

namespace {
bool is_slow(const gaicb* request);
}  // namespace

/// The C library's, with a name server that answers nothing about one name.
extern "C" int gai_error(gaicb* request) noexcept {
  static auto* const real = reinterpret_cast<int (*)(gaicb*)>(::dlsym(RTLD_NEXT, "gai_error"));
  return is_slow(request) ? EAI_INPROGRESS : real(request);
}

namespace {
/// A server that is not sshd: `serve` gets each connection.
class Server {
 public:
  explicit Server(std::function<void(int)> serve)
      : port(free_port()), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    ::listen(socket_.get(), 16);
    thread_ = std::thread([this, serve] {
      while (!done_) {
        pollfd ready{socket_.get(), POLLIN, 0};
        if (::poll(&ready, 1, 20) == 1) {
          const transport::Descriptor connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
          ++accepted;
          serve(connection.get());
        }
      }
    });
  }
  ~Server() {
    done_ = true;
    thread_.join();
  }
  [[nodiscard]] bool done() const { return done_; }
  std::uint16_t port;
  std::atomic<int> accepted{0};

 private:
  transport::Descriptor socket_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

void say(int fd, std::string_view text) {
  [[maybe_unused]] const auto sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
}

constexpr const char* slow_name = "slow.invalid";

bool is_slow(const gaicb* request) {
  return request->ar_name && std::string_view(request->ar_name) == slow_name;
}

struct Bare {
  Place place;
  transport::Options options() {
    transport::Options options;
    options.known_hosts = place.path / "known_hosts";
    options.ssh_config = place.write("ssh_config", "IdentityFile none\nIdentityAgent none\n");
    options.client = spec::SshClient::libssh2;
    options.connect_timeout = 2s;
    return options;
  }
};
}  // namespace

TEST_CASE("unreachable: a closed port, an unknown name and a silent address are distinguished") {
  Bare bare;
  const auto port = free_port();
  const auto closed = Client(bare.options(), {.address = "127.0.0.1", .port = port, .user = "root"})("true");
  REQUIRE_FALSE(closed);
  CHECK(closed.error().fault == base::Fault::unreachable);
  CHECK(closed.error().what == fmt::format("gpu7: 127.0.0.1:{}: connection refused", port));

  const auto unknown = Client(bare.options(), {.address = "no-such-host.invalid", .user = "root"})("true");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().fault == base::Fault::unreachable);
  CHECK(unknown.error().what.find("no-such-host.invalid") != std::string::npos);
}

TEST_CASE("unreachable: a name that is not resolved in time is not a firewall's fault") {
  Bare bare;
  const auto slow = Client(bare.options(), {.address = slow_name, .user = "root"})("true");
  REQUIRE_FALSE(slow);
  CHECK(slow.error().fault == base::Fault::unreachable);
  CHECK(slow.error().what == "gpu7: the name “slow.invalid” was not resolved within 2.0s");
  CHECK(slow.error().hint.find("firewall") == std::string::npos);
  CHECK(slow.error().hint.find("check the name") != std::string::npos);
}

TEST_CASE("unreachable: a server that accepts and says nothing runs into the deadline") {
  Bare bare;
  std::atomic<bool> stop{false};
  Server server([&](int) {
    while (!stop) std::this_thread::sleep_for(10ms);
  });
  const auto from = base::Clock::now();
  const auto exit =
      Client(bare.options(), {.address = "127.0.0.1", .port = server.port, .user = "root"})("true");
  stop = true;
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::unreachable);
  CHECK(exit.error().what.find("did not finish the SSH handshake within") != std::string::npos);
  CHECK(base::Clock::now() - from < 5s);
}

TEST_CASE("unreachable: a server that speaks no SSH is quoted, harmless") {
  Bare bare;
  Server server([](int fd) { say(fd, "HTTP/1.1 400 Bad\x1b[2J Request\r\n\r\n"); });
  const auto exit =
      Client(bare.options(), {.address = "127.0.0.1", .port = server.port, .user = "root"})("true");
  REQUIRE_FALSE(exit);
  CAPTURE(exit.error().what);
  CHECK(exit.error().what.find("does not speak SSH; it says: HTTP/1.1 400 Bad\\x1b[2J Request") !=
        std::string::npos);
  CHECK(server.accepted == 1);
}

TEST_CASE("unreachable: a server that floods instead of greeting does not hold the loop") {
  Bare bare;
  std::atomic<bool> stop{false};
  Server server([&](int fd) {
    const std::string junk(65536, '\n');
    while (!stop && ::send(fd, junk.data(), junk.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  const auto from = base::Clock::now();
  const auto exit =
      Client(bare.options(), {.address = "127.0.0.1", .port = server.port, .user = "root"})("true");
  stop = true;
  REQUIRE_FALSE(exit);
  CHECK(base::Clock::now() - from < 5s);
}

TEST_CASE("unreachable: a server that hangs up at once is tried again, then named") {
  Bare bare;
  Server server([](int) {});
  auto options = bare.options();
  options.connect_timeout = 10s;
  const auto exit = Client(options, {.address = "127.0.0.1", .port = server.port, .user = "root"})("true");
  REQUIRE_FALSE(exit);
  CAPTURE(exit.error().what);
  CHECK(exit.error().what.find("closes the connection without a greeting") != std::string::npos);
  CHECK(exit.error().hint.find("MaxStartups") != std::string::npos);
  CHECK(server.accepted == 5);
}

TEST_CASE("ssh: a host that drops in mid-command is named; the next command reconnects") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  CHECK(client("true"));
  std::thread killer([&] { sshd.kill_running(); });
  auto command = reads(sshd.begins() + "sleep 20");
  command.label = "install the packages";
  const auto exit = client(std::move(command));
  killer.join();
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::unreachable);
  CAPTURE(exit.error().what);
  CHECK((exit.error().what.ends_with("was lost during “install the packages”: closed by the host") ||
         exit.error().what.ends_with("was lost during “install the packages”: Connection reset by peer")));
  CHECK(client("echo again")->out == "again\n");
}

TEST_CASE("ssh: a connection that was closed while idle is reopened silently") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  CHECK(client("true"));
  sshd.kill_connections();
  std::this_thread::sleep_for(100ms);
  const auto exit = client("echo again");
  if (!exit) FAIL(exit.error().what);
  CHECK(exit->out == "again\n");
}

TEST_CASE("ssh: one connection serves many commands") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  for (int i = 0; i < 30; ++i) REQUIRE(client("true"));
  CHECK(sshd.key_logins() == 1);
}

TEST_CASE("ssh: a host that hangs past the deadline is reported, the others continue") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  Client client(sshd.options(), sshd.endpoint(key));
  client.fleet.add("gpu8", transport::open(*client.session, "gpu8", sshd.endpoint(key)));
  auto hangs = reads("echo x; sleep 20");
  hangs.timeout = 1s;
  client.fleet.submit("gpu7", hangs);
  client.fleet.submit("gpu8", reads("sleep 2; echo fine"));
  int late = 0, fine = 0;
  while (auto completion = client.fleet.next()) {
    if (completion->host == "gpu7") late += completion->result.error().fault == base::Fault::timeout;
    if (completion->host == "gpu8") fine += completion->result->out == "fine\n";
  }
  CHECK(late == 1);
  CHECK(fine == 1);
  CHECK(client("echo next")->out == "next\n");
}

TEST_CASE("ssh: a flood is drained, cut at the limit and counted, and others are served meanwhile") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  Client client(sshd.options(), sshd.endpoint(key));
  client.fleet.add("gpu8", transport::open(*client.session, "gpu8", sshd.endpoint(key)));
  auto flood = reads("head -c 100000000 /dev/zero; head -c 10000000 /dev/zero >&2");
  flood.output_limit = 1000;
  flood.timeout = 60s;
  client.fleet.submit("gpu7", flood);
  client.fleet.submit("gpu8", reads("echo quick"));
  auto first = client.fleet.next();
  REQUIRE(first->result);
  CHECK(first->host == "gpu8");
  auto second = client.fleet.next();
  REQUIRE(second->result);
  CHECK(second->result->out.size() == 1000);
  CHECK(second->result->err.size() == 1000);
  CHECK(second->result->dropped == 109'998'000);
}

TEST_CASE("ssh: a login banner and a noisy shell start do not reach the results") {
  if (!can_serve()) return;
  Place place;
  const std::string banner =
      place.write("banner", std::string(3000, '#') + "\nAuthorized use only\n").string();
  const std::string noise =
      place.write("noise", "echo welcome; echo 'no newline' >&2; printf hello; head -c 30000 /dev/zero\n")
          .string();
  std::filesystem::permissions(place.path, std::filesystem::perms(0755));
  Sshd sshd("Banner " + banner + "\nSetEnv BASH_ENV=" + noise);
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  const auto exit = client("echo out; echo err >&2");
  if (!exit) FAIL(exit.error().what);
  CHECK(exit->out == "out\n");
  CHECK(exit->err == "err\n");
}

TEST_CASE(
    "ssh: a host with an invalid login shell, or whose sshd forces a command, is reported with its output") {
  if (!can_serve()) return;
  for (const auto& [extra, user, words] :
       {std::tuple{"", "gpusw", "This account is currently not available."},
        {"ForceCommand echo '%Error: unknown command'", "root", "%Error: unknown command"},
        {"ForceCommand /bin/false", "root", "no output"}}) {
    CAPTURE(extra);
    Sshd sshd(extra);
    Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519"), user));
    const auto exit = client("true");
    REQUIRE_FALSE(exit);
    CHECK(exit.error().fault == base::Fault::remote);
    CHECK(exit.error().what.find("gpu7: the login shell did not run a POSIX shell") == 0);
    CHECK(exit.error().what.find(words) != std::string::npos);
    CHECK(exit.error().hint.find(fmt::format("ssh -p {} {}@127.0.0.1 /bin/sh -c true", sshd.port, user)) !=
          std::string::npos);
  }
}

TEST_CASE("ssh: a program killed by a signal ends with 128 and its number") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  CHECK(client("kill -KILL $$")->status == 137);
  CHECK(client("kill -TERM $$")->status == 143);
}

TEST_CASE("ssh: a sshd that refuses sessions says so") {
  if (!can_serve()) return;
  Sshd sshd("MaxSessions 0");
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  const auto exit = client("true");
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::remote);
  CHECK(exit.error().hint.find("MaxSessions") != std::string::npos);
}

TEST_CASE("ssh: too many keys for the server's patience is said so") {
  if (!can_serve()) return;
  Sshd sshd("MaxAuthTries 2");
  for (const char* name : {"a", "b", "c", "d"}) sshd.make_key(name, "ed25519");
  std::string config;
  for (const char* name : {"a", "b", "c", "d"})
    config += "IdentityFile " + (sshd.place.path / name).string() + "\n";
  auto options = sshd.options();
  options.ssh_config = sshd.place.write("many", config + "IdentityAgent none\n");
  Client client(options, sshd.endpoint(""));
  const auto exit = client("true");
  REQUIRE_FALSE(exit);
  CAPTURE(exit.error().what);
  CHECK(exit.error().what.find("Too many authentication failures") != std::string::npos);
  CHECK(exit.error().hint.find("identityFile") != std::string::npos);
}

TEST_CASE("auth: a key file that is missing is a failed login, and the hint names the options") {
  if (!can_serve()) return;
  Sshd sshd;
  sshd.make_known();
  Client client(sshd.options(), sshd.endpoint((sshd.place.path / "no-such-key").string()));
  const auto exit = client("true");
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::auth);
  CHECK(exit.error().what.find("no-such-key") != std::string::npos);
  CHECK(exit.error().hint.find("identityFile") != std::string::npos);
}
