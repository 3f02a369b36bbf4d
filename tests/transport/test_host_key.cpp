#include <doctest/doctest.h>
//
#include "sshd.hpp"

using namespace testing_transport;

namespace {
std::string fingerprint_of(const Sshd& sshd) {
  const std::string out = (sshd.place.path / "fp").string();
  REQUIRE(std::system(("ssh-keygen -lf " + (sshd.place.path / "host_ed25519.pub").string() +
                       " | cut -d' ' -f2 > " + out)
                          .c_str()) == 0);
  std::string text = base::read_file(out).value();
  text.pop_back();
  return text;
}

struct Notices {
  std::vector<std::string> lines;
  transport::Operator functions() {
    transport::Operator person;
    person.notify = [this](const std::string& host, const std::string& line) {
      lines.push_back(host + ": " + line);
    };
    return person;
  }
};
}  // namespace

TEST_CASE(
    "host keys: a new one is accepted, reported with OpenSSH's fingerprint, and stored in OpenSSH's format") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  for (const char* hash : {"no", "yes"}) {
    CAPTURE(hash);
    auto options = sshd.options();
    std::filesystem::remove(options.known_hosts);
    options.ssh_config =
        sshd.place.write("ssh_config_hash", std::string("HashKnownHosts ") + hash + "\nIdentityFile none\n");
    Notices notices;
    Client client(options, sshd.endpoint(key), notices.functions());
    CHECK(client("true"));
    REQUIRE(notices.lines.size() == 1);
    CHECK(notices.lines[0] == fmt::format("gpu7: new host key of [127.0.0.1]:{}: ed25519 {}, added to {}",
                                          sshd.port, fingerprint_of(sshd), options.known_hosts.string()));
    CHECK(shell(fmt::format("ssh -F none -oBatchMode=yes -oStrictHostKeyChecking=yes -oUserKnownHostsFile={} "
                            "-i {} -p {} root@127.0.0.1 true",
                            options.known_hosts.string(), key, sshd.port)) == 0);
    CHECK((base::read_file(options.known_hosts)->find("127.0.0.1") == std::string::npos) ==
          (std::string(hash) == "yes"));
    Notices again;
    Client strict(options, sshd.endpoint(key), again.functions());
    CHECK(strict("true"));
    CHECK(again.lines.empty());
  }
}

TEST_CASE("host keys: a changed one is refused with file, line and the command that forgets the old one") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  CHECK(Client(sshd.options(), sshd.endpoint(key))("true"));
  const std::string old = base::read_file(sshd.options().known_hosts).value();
  sshd.place.write("known_hosts", "# a comment\n" + old);
  sshd.stop();
  sshd.make_key("host_ed25519", "ed25519");
  sshd.start();
  Client client(sshd.options(), sshd.endpoint(key));
  const auto exit = client("true");
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::host_key);
  CHECK(exit.error().what.find("the host key has changed: " + sshd.options().known_hosts.string() +
                               ":2 has ed25519") != std::string::npos);
  CHECK(exit.error().what.find(fingerprint_of(sshd)) != std::string::npos);
  const std::string typed =
      fmt::format("ssh-keygen -f '{}' -R '[127.0.0.1]:{}'", sshd.options().known_hosts.string(), sshd.port);
  CHECK(exit.error().hint.find(typed) != std::string::npos);
  REQUIRE(shell(typed) == 0);
  CHECK(Client(sshd.options(), sshd.endpoint(key))("true"));
}

TEST_CASE("host keys: strict refuses an unknown one and says how to add it") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  auto options = sshd.options();
  options.host_keys = spec::HostKeys::strict;
  const auto exit = Client(options, sshd.endpoint(key))("true");
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::host_key);
  CHECK(exit.error().what.find(fingerprint_of(sshd)) != std::string::npos);
  const std::string hint = exit.error().hint;
  REQUIRE(shell(hint.substr(hint.find("ssh-keyscan"))) == 0);
  CHECK(Client(options, sshd.endpoint(key))("true"));
}

TEST_CASE("host keys: a pinned one must match, and no pin shows what to write") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  auto options = sshd.options();
  options.host_keys = spec::HostKeys::pinned;
  auto endpoint = sshd.endpoint(key);
  const auto none = Client(options, endpoint)("true");
  REQUIRE_FALSE(none);
  CHECK(none.error().hint.find("hostKey: \"" + fingerprint_of(sshd)) != std::string::npos);
  endpoint.host_key = fingerprint_of(sshd);
  CHECK(Client(options, endpoint)("true"));
  endpoint.host_key = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
  const auto other = Client(options, endpoint)("true");
  REQUIRE_FALSE(other);
  CHECK(other.error().fault == base::Fault::host_key);
  CHECK_FALSE(std::filesystem::exists(options.known_hosts));
}

TEST_CASE("host keys: a revoked one is refused") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  sshd.place.write("known_hosts",
                   "@revoked * " + base::read_file(sshd.place.path / "host_ed25519.pub").value());
  const auto exit = Client(sshd.options(), sshd.endpoint(key))("true");
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::host_key);
  CHECK(exit.error().what.find("the host key is revoked in ") != std::string::npos);
}

TEST_CASE("host keys: the type that is known is asked for, so a host with several keys stays known") {
  if (!can_serve()) return;
  Sshd sshd;
  sshd.make_key("host_ecdsa", "ecdsa");
  sshd.stop();
  std::ofstream(sshd.place.path / "sshd_config", std::ios::app)
      << "HostKey " << (sshd.place.path / "host_ecdsa").string() << "\n";
  sshd.start();
  const std::string key = sshd.user_key("ed", "ed25519");
  sshd.place.write("known_hosts", fmt::format("[127.0.0.1]:{} {}", sshd.port,
                                              base::read_file(sshd.place.path / "host_ecdsa.pub").value()));
  auto options = sshd.options();
  options.host_keys = spec::HostKeys::strict;
  const auto exit = Client(options, sshd.endpoint(key))("true");
  if (!exit) FAIL(exit.error().what);
}

TEST_CASE("host keys: a file that cannot be written is reported, and the run continues") {
  if (!can_serve()) return;
  Sshd sshd;
  auto options = sshd.options();
  options.known_hosts = "/proc/nowhere/known_hosts";
  Notices notices;
  Client client(options, sshd.endpoint(sshd.user_key("ed", "ed25519")), notices.functions());
  CHECK(client("true"));
  REQUIRE(notices.lines.size() == 1);
  CHECK(notices.lines[0].find("not stored: cannot add the key to /proc/nowhere/known_hosts") !=
        std::string::npos);
}
