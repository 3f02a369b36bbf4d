#include <doctest/doctest.h>
//
#include "sshd.hpp"

using namespace testing_transport;

namespace {
transport::Options openssh(const Sshd& sshd) {
  auto options = sshd.options();
  options.client = spec::SshClient::openssh;
  return options;
}
}  // namespace

TEST_CASE("openssh: output, error output, status 255 and signals come back over one connection") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(openssh(sshd), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  CHECK(client.fleet.at("gpu7").kind() == "openssh");
  for (const int status : {0, 3, 255}) {
    const auto exit = client(fmt::format("cat; echo out; echo err >&2; exit {}", status));
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == "out\n");
    CHECK(exit->err == "err\n");
    CHECK(exit->status == status);
  }
  CHECK(client("kill -KILL $$")->status == 137);
  CHECK(sshd.key_logins() == 1);
}

TEST_CASE("openssh: nothing of ours stays behind") {
  if (!can_serve()) return;
  Sshd sshd;
  std::string control;
  {
    Client client(openssh(sshd), sshd.endpoint(sshd.user_key("ed", "ed25519")));
    REQUIRE(client("true"));
    REQUIRE(client("sleep 1"));
  }
  const std::string master = fmt::format("ps -eo args | grep '[s]sh: .*gpuadm-.*127.0.0.1.*{}'", sshd.port);
  for (int i = 0; i < 100 && shell(master) == 0; ++i) std::this_thread::sleep_for(100ms);
  CHECK(shell(master) != 0);
  for (int i = 0; i < 100 && sshd.connections() > 0; ++i) std::this_thread::sleep_for(10ms);
  CHECK(sshd.connections() == 0);
}

TEST_CASE("openssh: files are streamed, floods are cut") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(openssh(sshd), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  REQUIRE(shell("head -c 20000000 /dev/urandom > " + (sshd.place.path / "big").string()) == 0);
  auto command = reads("sha256sum | cut -d' ' -f1");
  command.input = sshd.place.path / "big";
  const auto exit = client(command);
  if (!exit) FAIL(exit.error().what);
  CHECK(exit->out == base::sha256_of_file(sshd.place.path / "big").value() + "\n");
  // A file whose pages cannot be passed to a pipe is read.
  auto odd = reads("cat");
  odd.input = "/proc/self/status";
  const auto read = client(odd);
  if (!read) FAIL(read.error().what);
  CHECK(read->out.starts_with("Name:"));
  auto flood = reads("head -c 30000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 7");
  flood.output_limit = 1000;
  const auto cut = client(flood);
  if (!cut) FAIL(cut.error().what);
  CHECK(cut->status == 7);
  CHECK(cut->out.size() == 1000);
  CHECK(cut->err.size() == 1000);
}

TEST_CASE("openssh: sudo works with and without a password") {
  if (!can_serve() || !std::filesystem::exists("/usr/bin/sudo")) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  int asked = 0;
  transport::Operator person;
  person.ask_secret = [&](const std::string&) { return ++asked, base::Secret("let me in"); };
  for (const char* user : {"gpu", "gpupw"}) {
    CAPTURE(user);
    Client client(openssh(sshd), sshd.endpoint(key, user), person);
    for (int i = 0; i < 2; ++i) {
      auto command = reads("id -un; cat; exit 4");
      command.as = transport::As::root;
      const auto exit = client(command);
      if (!exit) FAIL(exit.error().what);
      CHECK(exit->out == "root\n");
      CHECK(exit->status == 4);
    }
  }
  CHECK(asked == 1);
}

TEST_CASE("openssh: host keys are accepted, refused and pinned as with libssh2") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  auto options = openssh(sshd);
  options.host_keys = spec::HostKeys::strict;
  const auto unknown = Client(options, sshd.endpoint(key))("true");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().fault == base::Fault::host_key);
  std::vector<std::string> notices;
  transport::Operator person;
  person.notify = [&](const std::string&, const std::string& line) { notices.push_back(line); };
  CHECK(Client(openssh(sshd), sshd.endpoint(key), person)("true"));
  REQUIRE(notices.size() == 1);
  CHECK(notices[0].starts_with(fmt::format("new host key of [127.0.0.1]:{}: SHA256:", sshd.port)));
  CHECK(Client(options, sshd.endpoint(key), person)("true"));
  CHECK(notices.size() == 1);

  auto pinned = sshd.endpoint(key);
  REQUIRE(std::system(fmt::format("ssh-keygen -lf {0}/host_ed25519.pub | cut -d' ' -f2 > {0}/fp",
                                  sshd.place.path.string())
                          .c_str()) == 0);
  pinned.host_key = base::read_file(sshd.place.path / "fp").value();
  pinned.host_key.pop_back();
  options.host_keys = spec::HostKeys::pinned;
  const auto good = Client(options, pinned)("echo in");
  if (!good) FAIL(good.error().what);
  pinned.host_key[10] = pinned.host_key[10] == 'x' ? 'y' : 'x';
  const auto bad = Client(options, pinned)("echo in");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().fault == base::Fault::host_key);

  sshd.stop();
  sshd.make_key("host_ed25519", "ed25519");
  sshd.start();
  const auto changed = Client(openssh(sshd), sshd.endpoint(key))("true");
  REQUIRE_FALSE(changed);
  CHECK(changed.error().fault == base::Fault::host_key);
}

TEST_CASE(
    "openssh: a rejected key, a closed port, a lost connection and an invalid shell are distinguished") {
  if (!can_serve()) return;
  Sshd sshd;
  sshd.make_key("unknown", "ed25519");
  const auto refused = Client(openssh(sshd), sshd.endpoint((sshd.place.path / "unknown").string()))("true");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().fault == base::Fault::auth);

  const std::string key = sshd.user_key("ed", "ed25519");
  auto closed = sshd.endpoint(key);
  closed.port = free_port();
  const auto nobody = Client(openssh(sshd), closed)("true");
  REQUIRE_FALSE(nobody);
  CHECK(nobody.error().fault == base::Fault::unreachable);
  CHECK(nobody.error().what.find("Connection refused") != std::string::npos);

  Client client(openssh(sshd), sshd.endpoint(key));
  CHECK(client("true"));
  std::thread killer([&] { sshd.kill_running(); });
  const auto lost = client(sshd.begins() + "sleep 20");
  killer.join();
  REQUIRE_FALSE(lost);
  CHECK(lost.error().fault == base::Fault::unreachable);
  CHECK(lost.error().what.find("the connection was lost") != std::string::npos);
  CHECK(client("echo again")->out == "again\n");

  const auto none = Client(openssh(sshd), sshd.endpoint(key, "gpusw"))("true");
  REQUIRE_FALSE(none);
  CAPTURE(none.error().what);
  CHECK(none.error().what.find("This account is currently not available") != std::string::npos);
}

TEST_CASE("openssh: a command that hangs is stopped, a login that hangs is unreachable") {
  if (!can_serve()) return;
  Sshd sshd;
  auto options = openssh(sshd);
  Client client(options, sshd.endpoint(sshd.user_key("ed", "ed25519")));
  auto hangs = reads("sleep 20");
  hangs.timeout = 1s;
  const auto late = client(hangs);
  REQUIRE_FALSE(late);
  CHECK(late.error().fault == base::Fault::timeout);
  CHECK(client("echo next")->out == "next\n");
}

TEST_CASE("automatic: libssh2 where it can, otherwise the OpenSSH client with one notice") {
  if (!can_serve()) return;
  std::vector<std::string> notices;
  transport::Operator person;
  person.notify = [&](const std::string& host, const std::string& line) {
    notices.push_back(host + ": " + line);
  };
  const auto moves = [&](const std::string& server, auto prepare) {
    notices.clear();
    Sshd sshd(server);
    auto options = sshd.options();
    options.client = spec::SshClient::automatic;
    auto endpoint = sshd.endpoint(sshd.user_key("ed", "ed25519"));
    prepare(sshd, options, endpoint);
    Client client(options, endpoint, person);
    const auto exit = client("echo in");
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == "in\n");
    return client.fleet.at("gpu7").kind();
  };
  CHECK(moves("", [](auto&...) {}) == "libssh2");

  CHECK(moves("Ciphers chacha20-poly1305@openssh.com", [](auto&...) {}) == "openssh");
  REQUIRE_FALSE(notices.empty());
  CHECK(notices[0].find("gpu7: using the OpenSSH client: libssh2") == 0);

  CHECK(moves("", [](Sshd& sshd, transport::Options&, spec::Endpoint&) {
          sshd.make_key("host_rsa", "rsa", "-b 2048 -N ''");
          sshd.stop();
          std::ofstream(sshd.place.path / "sshd_config", std::ios::app)
              << "HostKey " << (sshd.place.path / "host_rsa").string() << "\n";
          sshd.start();
          sshd.place.write("known_hosts",
                           fmt::format("[127.0.0.1]:{} {}", sshd.port,
                                       base::read_file(sshd.place.path / "host_rsa.pub").value()));
        }) == "openssh");
  CHECK(notices.at(0).find("only an RSA host key is known") != std::string::npos);

  CHECK(moves("", [](Sshd& sshd, transport::Options& options, spec::Endpoint& endpoint) {
          sshd.make_key("ca", "ed25519");
          sshd.make_key("signed", "ed25519");
          const std::string here = sshd.place.path.string();
          REQUIRE(shell("ssh-keygen -s " + here + "/ca -I test -n root " + here + "/signed.pub") == 0);
          sshd.place.write("authorized", "cert-authority " + base::read_file(here + "/ca.pub").value());
          options.ssh_config =
              sshd.place.write("with_certificate", "IdentityFile " + here + "/signed\nIdentityAgent none\n");
          endpoint.identity_file.clear();
        }) == "openssh");
  CHECK(notices.at(1).find("certificate") != std::string::npos);
}
