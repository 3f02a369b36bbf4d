#include "transport/ssh/config/tokens.hpp"
#include "transport/ssh/keys/bytes.hpp"
#include "transport/ssh/keys/host_key.hpp"

#include <doctest/doctest.h>
//
#include "own_home.hpp"

using namespace testing_transport;

namespace {
std::string why_openssh(const std::string& printed) {
  return transport::unserved(transport::parse_config(printed), "gpu7").value_or("");
}

std::string ed25519_blob(char letter) {
  std::string blob;
  transport::put_string(blob, "ssh-ed25519");
  transport::put_string(blob, std::string(32, letter));
  return blob;
}
}  // namespace

TEST_CASE(
    "ssh policy: what libssh2 cannot enforce or gpuadm cannot expand is left to OpenSSH, with the reason") {
  for (const char* printed :
       {"", "rekeylimit 0 0\n", "userknownhostsfile ~/a /b\n", "globalknownhostsfile /etc/%h\n",
        "identityagent $SOCKET\n", "identityfile /k/%C\n", "proxycommand nc %h %p\n", "proxyusefdpass yes\n",
        "userknownhostsfile none\n", "proxyjump me@%n\n", "userknownhostsfile relative\n"})
    CHECK(why_openssh(printed) == "");
  for (const auto& [printed, words] :
       {std::pair{"rekeylimit 1073741824 0\n", "RekeyLimit 1073741824 0"},
        {"revokedhostkeys /r\n", "RevokedHostKeys /r"},
        {"bindaddress 192.0.2.1\n", "BindAddress 192.0.2.1"},
        {"proxyusefdpass yes\nproxycommand nc -F %h %p\n", "ProxyUseFdpass"},
        {"userknownhostsfile /home/me/my kh\n", "UserKnownHostsFile"},
        {"globalknownhostsfile /a  /b\n", "GlobalKnownHostsFile"},
        {"userknownhostsfile /a \n", "UserKnownHostsFile"},
        {"userknownhostsfile /k/%h\n", "UserKnownHostsFile /k/%h, which only OpenSSH expands"},
        {"globalknownhostsfile ~me/k\n", "GlobalKnownHostsFile ~me/k"},
        {"identityagent /a/%h\n", "IdentityAgent /a/%h"},
        {"proxycommand nc %d %p\n", "ProxyCommand nc %d %p"},
        {"proxyjump me@%C\n", "ProxyJump me@%C"}}) {
    CAPTURE(printed);
    CHECK(why_openssh(printed).find(words) != std::string::npos);
  }
}

TEST_CASE("ssh policy: CheckHostIP refuses a key that is not the address's") {
  Place place;
  transport::Options options;
  const auto line = [](const char* name, char letter) {
    return fmt::format("{} ssh-ed25519 {}\n", name, base::base64(ed25519_blob(letter)));
  };
  options.known_hosts =
      place.write("known_hosts", line("gpu7", 'a') + line("192.0.2.7", 'a') + line("192.0.2.8", 'b') +
                                     "@revoked " + line("192.0.2.9", 'a'));
  const auto session = transport::make_session(options, {});
  transport::Config config = transport::plain_config("gpu7");
  for (const bool check_ip : {false, true}) {
    config.check_ip = check_ip;
    transport::HostKeyCheck check(*session, "gpu7", config, "gpu7", "");
    for (const char* address : {"", "127.0.0.1", "192.0.2.6", "192.0.2.7"})
      CHECK(check.verify(ed25519_blob('a'), address));
    const auto other = check.verify(ed25519_blob('a'), "192.0.2.8");
    CHECK(other.has_value() != check_ip);
    if (!other) CHECK(other.error().hint.find("192.0.2.8") != std::string::npos);
    CHECK(check.verify(ed25519_blob('a'), "192.0.2.9").has_value() != check_ip);
  }
}

TEST_CASE("ssh policy: no key is stored for a name that is a pattern") {
  Place place;
  transport::Options options;
  options.known_hosts = place.write("known_hosts", "");
  const auto session = transport::make_session(options, {});
  for (const char* name : {"gpu*", "a,b", "!a", "a b"}) {
    const transport::Config config = transport::plain_config(name);
    transport::HostKeyCheck check(*session, "gpu7", config, name, "");
    CHECK_FALSE(check.verify(ed25519_blob('a')));
  }
  CHECK(base::read_file(options.known_hosts) == "");
}

TEST_CASE("ssh policy: AddressFamily is kept") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  for (const auto& [family, works] : {std::pair{"inet", true}, {"any", true}, {"inet6", false}}) {
    auto options = sshd.options();
    options.ssh_config =
        sshd.place.write("config", fmt::format("AddressFamily {}\nIdentityAgent none\n", family));
    CHECK(Client(options, sshd.endpoint(key))("true").has_value() == works);
  }
}

TEST_CASE("ssh policy: settings that leave no session for a command do not hinder the OpenSSH client") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  std::vector<std::string> notices;
  transport::Operator person;
  person.notify = [&](const std::string&, const std::string& line) { notices.push_back(line); };
  for (const char* lines : {"StdinNull yes", "SessionType none", "RemoteCommand echo no", "LogLevel QUIET"}) {
    CAPTURE(lines);
    notices.clear();
    std::filesystem::remove(sshd.place.path / "known_hosts");
    auto options = sshd.options();
    options.client = spec::SshClient::openssh;
    options.ssh_config = sshd.place.write("config", std::string(lines) + "\nIdentityAgent none\n");
    const auto exit = Client(options, sshd.endpoint(key), person)("echo in");
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == "in\n");
    REQUIRE(notices.size() == 1);
    CHECK(notices[0].find(": SHA256:") != std::string::npos);
  }
}
