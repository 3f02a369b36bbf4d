#include <doctest/doctest.h>
//
#include "sshd.hpp"

#include <fmt/format.h>

#include <cstdlib>

using namespace testing_transport;

namespace {
/// A client that sends files from 1 MiB on with the OpenSSH client.
transport::Options both_clients(const Sshd& sshd) {
  sshd.make_known();
  auto options = sshd.options();
  options.client = spec::SshClient::automatic;
  options.openssh_from = 1u << 20;
  options.long_way = 10s;
  return options;
}

transport::Command sum_of_file(const std::filesystem::path& file) {
  auto command = reads("sha256sum | cut -d' ' -f1; exit 7");
  command.input = file;
  return command;
}
}  // namespace

TEST_CASE("large files: the OpenSSH client sends them over one connection of their own") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(both_clients(sshd), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  REQUIRE(client("true"));
  const auto small = sshd.place.write("small", std::string((1u << 20) - 1, 'x'));
  CHECK(client(sum_of_file(small))->status == 7);
  CHECK(sshd.key_logins() == 1);
  const auto file = sshd.place.path / "big";
  REQUIRE(shell("head -c 20000000 /dev/urandom > " + file.string()) == 0);
  for (int i = 0; i < 2; ++i) {
    const auto exit = client(sum_of_file(file));
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == base::sha256_of_file(file).value() + "\n");
    CHECK(exit->status == 7);
    CHECK(sshd.key_logins() == 2);
  }
  auto rest = sum_of_file(file);
  rest.script = "wc -c";
  rest.input_offset = 10'000'001;
  CHECK(client(rest)->out == "9999999\n");
  CHECK(client("echo next")->out == "next\n");
  CHECK(client.fleet.at("gpu7").kind() == "libssh2");
  CHECK(sshd.key_logins() == 2);
  client.fleet.at("gpu7").close();
  for (int i = 0; i < 100 && sshd.connections() > 0; ++i) std::this_thread::sleep_for(10ms);
  CHECK(sshd.connections() == 0);
}

TEST_CASE("large files: libssh2 sends them if the OpenSSH client cannot log in by itself") {
  if (!can_serve()) return;
  Sshd sshd;
  int asked = 0;
  transport::Operator person;
  person.ask_secret = [&](const std::string&) { return ++asked, base::Secret("passphrase"); };
  std::vector<std::string> notices;
  person.notify = [&](const std::string&, const std::string& line) { notices.push_back(line); };
  Client client(both_clients(sshd), sshd.endpoint(sshd.user_key("locked", "ed25519", "-N passphrase")),
                person);
  REQUIRE(client("true"));
  const std::size_t before = sshd.logged("Connection from");
  const auto file = sshd.place.write("file", std::string(3'000'000, 'x'));
  for (int i = 0; i < 2; ++i) {
    const auto exit = client(sum_of_file(file));
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == base::sha256_of_file(file).value() + "\n");
    CHECK(exit->status == 7);
    CHECK(sshd.logged("Connection from") == before + 1);  // one try
  }
  CHECK(sshd.key_logins() == 1);
  CHECK(asked == 1);
  CHECK(notices.empty());
}

TEST_CASE("large files: after a login with a password, the OpenSSH client does not even try") {
  if (!can_serve()) return;
  Sshd sshd("PasswordAuthentication yes");
  transport::Operator person;
  person.ask_secret = [](const std::string&) { return base::Secret("let me in"); };
  auto options = both_clients(sshd);
  Client client(options, sshd.endpoint("", "gpupw"), person);
  const auto first = client("true");
  if (!first) FAIL(first.error().what);
  const std::size_t before = sshd.logged("Connection from");
  const auto file = sshd.place.write("file", std::string(3'000'000, 'x'));
  CHECK(client(sum_of_file(file))->out == base::sha256_of_file(file).value() + "\n");
  CHECK(sshd.logged("Connection from") == before);
}

TEST_CASE("large files: libssh2 sends them to a host whose key was accepted just now") {
  if (!can_serve()) return;
  Sshd sshd;
  auto options = both_clients(sshd);
  options.known_hosts = "/dev/null";
  Client client(options, sshd.endpoint(sshd.user_key("ed", "ed25519")));
  REQUIRE(client("true"));
  CHECK(client(sum_of_file(sshd.place.write("file", std::string(3'000'000, 'x'))))->status == 7);
  CHECK(sshd.key_logins() == 1);
}

TEST_CASE("large files: libssh2 sends them if ssh cannot be started") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(both_clients(sshd), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  REQUIRE(client("true"));
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nonexistent", 1);
  const auto file = sshd.place.write("file", std::string(3'000'000, 'x'));
  const auto exit = client(sum_of_file(file));
  const auto next = client("echo next");
  ::setenv("PATH", path.c_str(), 1);
  if (!exit) FAIL(exit.error().what);
  CHECK(exit->out == base::sha256_of_file(file).value() + "\n");
  REQUIRE(next);
  CHECK(next->out == "next\n");
}

TEST_CASE("large files: closed in the middle, the next command connects again") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(both_clients(sshd), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  REQUIRE(client("true"));
  auto command = reads("sleep 60");
  command.input = sshd.place.write("file", std::string(3'000'000, 'x'));
  auto& transport = client.fleet.at("gpu7");
  for (const auto wait : {0ms, 50ms, 1000ms}) {  // the login, the file
    CAPTURE(wait.count());
    REQUIRE(transport.start(command));
    const auto until = base::Clock::now() + wait;
    do {
      REQUIRE(transport.advance());
      std::this_thread::sleep_for(5ms);
    } while (base::Clock::now() < until);
    transport.close();
    const auto next = client("echo next");
    if (!next) FAIL(next.error().what);
    CHECK(next->out == "next\n");
  }
  const auto exit = client(sum_of_file(*command.input));
  if (!exit) FAIL(exit.error().what);
  CHECK(exit->status == 7);
}

TEST_CASE("large files: sudo's password is asked once for both clients") {
  if (!can_sudo()) return;
  Sshd sshd;
  int asked = 0;
  transport::Operator person;
  person.ask_secret = [&](const std::string&) { return ++asked, base::Secret("let me in"); };
  // The user is that of the configuration of ssh.
  const auto options = both_clients(sshd);
  sshd.place.write("ssh_config", "User gpupw\nIdentityFile none\nIdentityAgent none\n");
  Client client(options, sshd.endpoint(sshd.user_key("ed", "ed25519"), ""), person);
  CHECK(client(as_root("id -u"))->out == "0\n");
  auto command = as_root("id -u; wc -c");
  command.input = sshd.place.write("file", std::string(3'000'000, 'x'));
  for (int i = 0; i < 2; ++i) CHECK(client(command)->out == "0\n3000000\n");
  CHECK(asked == 1);
  CHECK(sshd.key_logins() == 2);
}

TEST_CASE("large files: a program that stops reading is answered, and a lost connection is an error") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(both_clients(sshd), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  REQUIRE(client("true"));
  auto command = reads("head -c 3; exit 5");
  command.input = sshd.place.write("file", std::string(40'000'000, 'x'));
  const auto exit = client(command);
  if (!exit) FAIL(exit.error().what);
  CHECK(exit->out == "xxx");
  CHECK(exit->status == 5);

  command.script = sshd.begins() + "head -c 1000; sleep 10";
  std::thread end([&] { sshd.kill_running(); });
  const auto lost = client(command);
  end.join();
  REQUIRE_FALSE(lost);
  CHECK(lost.error().fault == base::Fault::unreachable);
  command.script = "wc -c";
  const auto again = client(command);
  if (!again) FAIL(again.error().what);
  CHECK(again->out == "40000000\n");
}
