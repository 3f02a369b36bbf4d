#include <doctest/doctest.h>
//
#include "sshd.hpp"

using namespace testing_transport;

namespace {
/// Answers one sudo password, and counts.
struct Person {
  std::string password;
  int asked = 0;
  transport::Operator functions() {
    transport::Operator person;
    person.ask_secret = [this](const std::string&) { return ++asked, base::Secret(password); };
    return person;
  }
};
}  // namespace

TEST_CASE("sudo: a login user with NOPASSWD becomes root, again and again, with files too") {
  if (!can_sudo()) return;
  Sshd sshd;
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519"), "gpu"));
  for (int i = 0; i < 2; ++i) {
    const auto exit = client(as_root("id -un; cat; echo err >&2"));
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == "root\n");
    CHECK(exit->err == "err\n");
  }
  auto streams = as_root("id -un; cat");
  streams.input = sshd.place.write("file", "first\nsecond\n");
  CHECK(client(streams)->out == "root\nfirst\nsecond\n");
  CHECK(client("id -un")->out == "gpu\n");
}

TEST_CASE("sudo: a password is asked once for all hosts and commands, and is nowhere to be seen") {
  if (!can_sudo()) return;
  Sshd sshd;
  sshd.make_known();
  Person person{"let me in"};
  const std::string key = sshd.user_key("ed", "ed25519");
  auto session = transport::make_session(sshd.options(), person.functions());
  transport::Fleet fleet(4, nullptr);
  for (const char* host : {"a", "b"}) {
    fleet.add(host, transport::open(*session, host, sshd.endpoint(key, "gpupw")));
    fleet.submit(host, as_root("id -un; cat; tr '\\0' ' ' < /proc/$PPID/cmdline; env; echo err >&2"));
    auto streams = as_root("id -un; cat");
    streams.input = sshd.place.write("file", "one\ntwo\n");
    fleet.submit(host, streams);
  }
  int streamed = 0;
  while (auto completion = fleet.next()) {
    if (!completion->result) FAIL(completion->result.error().what);
    const auto& exit = *completion->result;
    CHECK(exit.out.starts_with("root\n"));
    CHECK(exit.out.find("let me in") == std::string::npos);
    if (exit.out == "root\none\ntwo\n")
      ++streamed;
    else
      CHECK(exit.err == "err\n");
  }
  CHECK(streamed == 2);
  CHECK(person.asked == 1);
  CHECK(sshd.log().find("let me in") == std::string::npos);
}

TEST_CASE("sudo: a wrong password is reported, and the next command asks again") {
  if (!can_sudo()) return;
  Sshd sshd;
  Person person{"no"};
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519"), "gpupw"), person.functions());
  const auto exit = client(as_root("id -un"));
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::auth);
  CHECK(exit.error().what == "gpu7: sudo rejects the password of gpupw");
  person.password = "let me in";
  const auto again = client(as_root("id -un"));
  if (!again) FAIL(again.error().what);
  CHECK(again->out == "root\n");
}

TEST_CASE("sudo: a wrong password is asked again also if sudo allows one attempt") {
  if (!can_sudo()) return;
  Sshd sshd;
  std::ofstream(sshd.place.path / "sudoers", std::ios::app) << "Defaults passwd_tries=1\n";
  const std::string key = sshd.user_key("ed", "ed25519");
  for (const auto ssh_client : {spec::SshClient::libssh2, spec::SshClient::openssh}) {
    auto options = sshd.options();
    options.client = ssh_client;
    Person person{"no"};
    Client client(options, sshd.endpoint(key, "gpupw"), person.functions());
    const auto exit = client(as_root("id -un"));
    REQUIRE_FALSE(exit);
    CHECK(exit.error().fault == base::Fault::auth);
    CHECK(exit.error().what ==
          "gpu7: sudo rejects the password of gpupw: sudo: 1 incorrect password attempt");
    CHECK(exit.error().hint.find("NOPASSWD") == std::string::npos);
    person.password = "let me in";
    const auto again = client(as_root("id -un"));
    if (!again) FAIL(again.error().what);
    CHECK(again->out == "root\n");
    CHECK(person.asked == 2);
  }
}

TEST_CASE("sudo: a user without the right to use it is reported") {
  if (!can_sudo()) return;
  Sshd sshd;
  Person person{"let me in"};
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519"), "gpuno"), person.functions());
  const auto exit = client(as_root("id -un"));
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::auth);
  CHECK(exit.error().what.find("gpuno is not in the sudoers file") != std::string::npos);
  CHECK(exit.error().hint.find("visudo") != std::string::npos);
  CHECK_FALSE(client(as_root("id -un")));
  CHECK(person.asked == 1);  // the password was right
}

TEST_CASE("sudo: requiretty is named with the line that lifts it") {
  if (!can_sudo()) return;
  Sshd sshd;
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519"), "gputty"));
  const auto exit = client(as_root("id -un"));
  REQUIRE_FALSE(exit);
  CHECK(exit.error().what.find("tty") != std::string::npos);
  CHECK(exit.error().hint.find("Defaults:gputty !requiretty") != std::string::npos);
}

TEST_CASE("sudo: nobody to ask, or sudo forbidden, each says so") {
  if (!can_sudo()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  Client nobody(sshd.options(), sshd.endpoint(key, "gpupw"));
  CHECK(nobody(as_root("true")).error().what.find("there is no terminal for the prompt") !=
        std::string::npos);

  auto options = sshd.options();
  options.sudo = spec::SudoPolicy::never;
  Client forbidden(options, sshd.endpoint(key, "gpu"));
  CHECK(forbidden(as_root("true")).error().what == "gpu7: gpu is not root and sudo may not be used");
  Client root(options, sshd.endpoint(key, "root"));
  CHECK(root(as_root("id -un"))->out == "root\n");
}

TEST_CASE("sudo: a program that reads its stdin never sees the password") {
  if (!can_sudo()) return;
  Sshd sshd;
  Person person{"let me in"};
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519"), "gpupw"), person.functions());
  auto streams = as_root("cat | od -c | head -50");
  streams.input = sshd.place.write("file", "x");
  const auto exit = client(streams);
  REQUIRE(exit);
  CHECK(exit->out == "0000000   x\n0000001\n");
}
