#include <doctest/doctest.h>
//
#include "sshd.hpp"

using namespace testing_transport;

TEST_CASE("ssh: ed25519, ecdsa and rsa keys log in, in OpenSSH's and in PEM files") {
  if (!can_serve()) return;
  Sshd sshd;
  for (const auto& [name, type, more] : {std::tuple{"ed", "ed25519", "-N ''"},
                                         {"ec256", "ecdsa", "-b 256 -N ''"},
                                         {"ec384", "ecdsa", "-b 384 -N ''"},
                                         {"ec521", "ecdsa", "-b 521 -N ''"},
                                         {"rsa", "rsa", "-b 2048 -N ''"},
                                         {"rsapem", "rsa", "-b 2048 -m PEM -N ''"},
                                         {"ecpem", "ecdsa", "-m PEM -N ''"},
                                         {"ecp8", "ecdsa", "-m PKCS8 -N ''"}}) {
    CAPTURE(name);
    Client client(sshd.options(), sshd.endpoint(sshd.user_key(name, type, more)));
    const auto exit = client("echo out; echo err >&2; exit 3");
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == "out\n");
    CHECK(exit->err == "err\n");
    CHECK(exit->status == 3);
  }
}

TEST_CASE("ssh: a passphrase is asked once for all hosts, and a wrong one is asked again") {
  if (!can_serve()) return;
  Sshd sshd;
  for (const auto& [name, type, more] : {std::tuple{"ed", "ed25519", "-N 'open sesame'"},
                                         {"rsa", "rsa", "-b 2048 -N 'open sesame'"},
                                         {"cbc", "ed25519", "-Z aes128-cbc -N 'open sesame'"},
                                         {"pem", "ecdsa", "-m PEM -N 'open sesame'"}}) {
    CAPTURE(name);
    const std::string key = sshd.user_key(name, type, more);
    std::vector<std::string> prompts;
    transport::Operator person;
    person.ask_secret = [&](const std::string& prompt) {
      prompts.push_back(prompt);
      return base::Secret(prompts.size() == 1 ? "open barley" : "open sesame");
    };
    auto session = transport::make_session(sshd.options(), person);
    transport::Fleet fleet(4, nullptr);
    for (const char* host : {"a", "b", "c"}) {
      fleet.add(host, transport::open(*session, host, sshd.endpoint(key)));
      fleet.submit(host, reads("echo in"));
    }
    int in = 0;
    while (auto completion = fleet.next()) {
      if (!completion->result) FAIL(completion->result.error().what);
      in += completion->result->out == "in\n";
    }
    CHECK(in == 3);
    CHECK(prompts == std::vector<std::string>(2, "Passphrase for " + key + ": "));
  }
}

TEST_CASE("ssh: without anybody to ask an encrypted key is refused with what to type") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519", "-N secret")));
  const auto exit = client("true");
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::auth);
  CHECK(exit.error().what.find("wrong passphrase") != std::string::npos);
}

TEST_CASE("ssh: keys of an agent log in") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string socket = (sshd.place.path / "agent").string();
  auto agent =
      transport::Child::spawn({"ssh-agent", "-D", "-a", socket}, transport::Child::Wiring::pipes).value();
  for (int i = 0; i < 100 && !std::filesystem::exists(socket); ++i) std::this_thread::sleep_for(10ms);
  for (const char* type : {"ed25519", "ecdsa", "rsa"}) {
    CAPTURE(type);
    const std::string key = sshd.user_key(std::string("agent_") + type, type);
    REQUIRE(shell("SSH_AUTH_SOCK=" + socket + " ssh-add -D; SSH_AUTH_SOCK=" + socket + " ssh-add " + key) ==
            0);
    auto options = sshd.options();
    options.ssh_config = sshd.place.write("with_agent", "IdentityFile none\nIdentityAgent " + socket + "\n");
    Client client(options, sshd.endpoint(""));
    const auto exit = client("echo in");
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == "in\n");
  }
}

TEST_CASE("ssh: a refused key names the key, what the server takes and what to type") {
  if (!can_serve()) return;
  Sshd sshd;
  sshd.make_key("unknown", "ed25519");
  Client client(sshd.options(), sshd.endpoint((sshd.place.path / "unknown").string()));
  const auto exit = client("true");
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::auth);
  CHECK(exit.error().what.find("ssh-ed25519 " + (sshd.place.path / "unknown").string()) != std::string::npos);
  CHECK(exit.error().what.find("publickey") != std::string::npos);
  CHECK(exit.error().hint.find(fmt::format("ssh-copy-id -p {} root@127.0.0.1", sshd.port)) !=
        std::string::npos);
}

TEST_CASE("ssh: a key file that is missing, no key, or open to others is named") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string open_key = sshd.user_key("open", "ed25519");
  std::filesystem::permissions(open_key, std::filesystem::perms(0644));
  const std::string no_key = sshd.place.write("nokey", "hello").string();
  std::filesystem::permissions(no_key, std::filesystem::perms(0600));
  for (const auto& [path, words] : {std::pair{open_key, "other users can read"},
                                    {no_key, "not a private key"},
                                    {std::string("/nonexistent/key"), "/nonexistent/key"}}) {
    Client client(sshd.options(), sshd.endpoint(path));
    const auto exit = client("true");
    REQUIRE_FALSE(exit);
    CAPTURE(exit.error().what);
    CHECK(exit.error().what.find(words) != std::string::npos);
  }
}

TEST_CASE("ssh: a password is asked once for all hosts") {
  if (!can_serve()) return;
  Sshd sshd;
  sshd.make_known();
  int asked = 0;
  transport::Operator person;
  person.ask_secret = [&](const std::string& prompt) {
    CHECK(prompt.find("Password of gpupw") != std::string::npos);
    return base::Secret(++asked == 1 ? "wrong" : "let me in");
  };
  auto session = transport::make_session(sshd.options(), person);
  transport::Fleet fleet(4, nullptr);
  for (const char* host : {"a", "b", "c"}) {
    fleet.add(host, transport::open(*session, host, sshd.endpoint("", "gpupw")));
    fleet.submit(host, reads("id -un"));
  }
  while (auto completion = fleet.next()) {
    if (!completion->result) FAIL(completion->result.error().what);
    CHECK(completion->result->out == "gpupw\n");
  }
  CHECK(asked == 2);
}

TEST_CASE("ssh: a wrong password is refused after three tries") {
  if (!can_serve()) return;
  Sshd sshd;
  int asked = 0;
  transport::Operator person;
  person.ask_secret = [&](const std::string&) { return ++asked, base::Secret("wrong"); };
  Client client(sshd.options(), sshd.endpoint("", "gpupw"), person);
  const auto exit = client("true");
  REQUIRE_FALSE(exit);
  CHECK(exit.error().fault == base::Fault::auth);
  CHECK(exit.error().what.find("3 passwords") != std::string::npos);
  CHECK(asked == 3);
}

TEST_CASE("ssh: a wrong password is asked again also if the server closes the connection") {
  if (!can_serve()) return;
  Sshd sshd("MaxAuthTries 1\nKbdInteractiveAuthentication no");
  int asked = 0;
  transport::Operator person;
  person.ask_secret = [&](const std::string&) { return base::Secret(++asked == 1 ? "wrong" : "let me in"); };
  Client client(sshd.options(), sshd.endpoint("", "gpupw"), person);
  const auto exit = client("true");
  REQUIRE_FALSE(exit);
  CHECK(exit.error().what.find("Too many authentication failures") != std::string::npos);
  CHECK(client("id -un")->out == "gpupw\n");
  CHECK(asked == 2);
}

TEST_CASE("ssh: the time in which the operator types does not count against the deadline") {
  if (!can_serve()) return;
  Sshd sshd;
  auto options = sshd.options();
  options.connect_timeout = 3s;
  transport::Operator person;
  person.ask_secret = [&](const std::string&) {
    std::this_thread::sleep_for(3500ms);
    return base::Secret("let me in");
  };
  Client client(options, sshd.endpoint("", "gpupw"), person);
  const auto exit = client("echo in");
  if (!exit) FAIL(exit.error().what);
  CHECK(exit->out == "in\n");
}

TEST_CASE("ssh: a server that wants a key and a password gets both") {
  if (!can_serve()) return;
  Sshd sshd("AuthenticationMethods publickey,password");
  transport::Operator person;
  person.ask_secret = [&](const std::string&) { return base::Secret("let me in"); };
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519"), "gpupw"), person);
  const auto exit = client("echo in");
  if (!exit) FAIL(exit.error().what);
  CHECK(exit->out == "in\n");
}
