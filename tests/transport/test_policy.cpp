#include "transport/ssh/keys/algorithms.hpp"
#include "transport/ssh/openssh_client.hpp"

#include <doctest/doctest.h>
#include <libssh2.h>

#include <algorithm>
//
#include "sshd.hpp"

using namespace testing_transport;
using transport::Config;

namespace {

/// Options of a client, with lines of the operator's configuration before the test's own.
transport::Options with(const Sshd& sshd, const std::string& lines, spec::SshClient client) {
  auto options = sshd.options();
  options.client = client;
  options.ssh_config =
      sshd.place.write("operators_config", lines + "\nIdentityFile none\nIdentityAgent none\n");
  return options;
}

std::string error_of(const transport::Result<transport::Exit>& exit) {
  return exit ? "" : exit.error().what + "; " + exit.error().hint;
}

struct Asked {
  std::vector<std::string> prompts;
  transport::Operator functions() {
    transport::Operator person;
    person.ask_secret = [this](const std::string& prompt) {
      prompts.push_back(prompt);
      return base::Secret("let me in");
    };
    return person;
  }
};

struct WorkingFolder {
  explicit WorkingFolder(const std::filesystem::path& folder) { std::filesystem::current_path(folder); }
  ~WorkingFolder() { std::filesystem::current_path(before); }
  std::filesystem::path before = std::filesystem::current_path();
};

constexpr auto libssh2 = spec::SshClient::libssh2, by_openssh = spec::SshClient::openssh,
               automatic = spec::SshClient::automatic;

}  // namespace

TEST_CASE("ssh policy: what `ssh -G` says of it is read") {
  const Config config = transport::parse_config(
      "stricthostkeychecking true\nknownhostscommand /bin/x %H\nrevokedhostkeys /r\nkexalgorithms a,b\n"
      "hostkeyalgorithms c\nciphers d\nmacs e,f\npubkeyacceptedalgorithms g\nrequiredrsasize 3072\n"
      "bindaddress 192.0.2.1\npreferredauthentications publickey,password\npasswordauthentication no\n"
      "numberofpasswordprompts 1\n");
  CHECK(config.strict);
  CHECK(config.known_hosts_command == "/bin/x %H");
  CHECK(config.revoked_host_keys == "/r");
  CHECK(config.kex_algorithms == std::vector<std::string>{"a", "b"});
  CHECK(config.host_key_algorithms == std::vector<std::string>{"c"});
  CHECK(config.ciphers == std::vector<std::string>{"d"});
  CHECK(config.macs == std::vector<std::string>{"e", "f"});
  CHECK(config.key_algorithms == std::vector<std::string>{"g"});
  CHECK(config.least_rsa_bits == 3072);
  CHECK(config.bind_address == "192.0.2.1");
  CHECK(config.allows("publickey"));
  CHECK_FALSE(config.allows("password"));
  CHECK_FALSE(config.allows("keyboard-interactive"));
  CHECK(config.password_prompts == 1);

  const Config usual =
      transport::parse_config("stricthostkeychecking ask\nrevokedhostkeys none\nknownhostscommand none\n");
  CHECK_FALSE(usual.strict);
  CHECK(usual.revoked_host_keys.empty());
  CHECK(usual.known_hosts_command.empty());
  for (const char* method : {"publickey", "password", "keyboard-interactive"}) CHECK(usual.allows(method));
  CHECK_FALSE(transport::parse_config("batchmode yes\n").allows("password"));
  CHECK_FALSE(transport::parse_config("pubkeyauthentication false\n").allows("publickey"));
}

TEST_CASE("ssh policy: libssh2 offers what both know, the types of known keys first") {
  Config config;
  CHECK(transport::algorithms_for(config, {}).host_keys.starts_with("ssh-ed25519,"));
  CHECK(transport::algorithms_for(config, {"ecdsa-sha2-nistp384"})
            .host_keys.starts_with("ecdsa-sha2-nistp384,ssh-ed25519,"));
  const bool rsa = ::libssh2_version(0x010b00) != nullptr;  // 1.10 has no rsa-sha2 for host keys
  CHECK(transport::algorithms_for(config, {"ssh-rsa"})
            .host_keys.starts_with(rsa ? "rsa-sha2-512,rsa-sha2-256,ssh-ed25519," : "ssh-ed25519,"));
  config.kex_algorithms = {"sntrup761x25519-sha512", "ecdh-sha2-nistp384"};
  config.ciphers = {"aes256-ctr", "aes128-cbc"};
  config.macs = {"umac-64@openssh.com"};
  config.host_key_algorithms = {"rsa-sha2-512", "ssh-ed25519"};
  const auto some = transport::algorithms_for(config, {"ssh-rsa", "ecdsa-sha2-nistp256"});
  CHECK(some.key_exchange == "ecdh-sha2-nistp384");
  CHECK(some.ciphers == "aes256-ctr");
  CHECK(some.macs.empty());
  CHECK(some.host_keys == (rsa ? "rsa-sha2-512,ssh-ed25519" : "ssh-ed25519"));
  config.least_rsa_bits = 2048;
  CHECK(transport::algorithms_for(config, {"ssh-rsa"}).host_keys == "ssh-ed25519");
}

TEST_CASE("ssh policy: the last jump host is asked about as ssh would") {
  const auto of = [](const char* jump) {
    Config config;
    config.host_name = "10.0.0.7";
    config.user = "root";
    config.proxy_jump = jump;
    const auto question = transport::jump_of(config, "gpu7");
    return question ? fmt::format("{} {} {}", question->user, question->host, question->port) : "none";
  };
  CHECK(of("") == "none");
  CHECK(of("bastion") == " bastion 0");
  CHECK(of("first,me@second:2222") == "me second 2222");
  CHECK(of("ssh://me@[fd00::1]:22") == "me fd00::1 22");
  CHECK(of("fd00::1") == " fd00::1 0");
  CHECK(of("%r@jump.%n:2222") == "root jump.gpu7 2222");
  CHECK(of("jump.%h") == " jump.10.0.0.7 0");
}

TEST_CASE("ssh policy: StrictHostKeyChecking yes wins over accepting new keys") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  for (const auto client : {libssh2, by_openssh, automatic}) {
    const auto options = with(sshd, "StrictHostKeyChecking yes", client);
    const auto exit = Client(options, sshd.endpoint(key))("true");
    REQUIRE_FALSE(exit);
    CHECK(exit.error().fault == base::Fault::host_key);
    CHECK_FALSE(std::filesystem::exists(options.known_hosts));
  }
  CHECK(error_of(Client(with(sshd, "StrictHostKeyChecking yes", automatic), sshd.endpoint(key))("true"))
            .find("StrictHostKeyChecking yes") != std::string::npos);
  sshd.make_known();
  for (const auto client : {libssh2, by_openssh})
    CHECK(Client(with(sshd, "StrictHostKeyChecking yes", client), sshd.endpoint(key))("true"));
}

TEST_CASE("ssh policy: with UserKnownHostsFile none, new keys are refused, and no file has this name") {
  if (!can_serve()) return;
  CHECK(transport::parse_config("userknownhostsfile none\nglobalknownhostsfile none\nidentityfile none\n")
            .identity_files.empty());
  CHECK(transport::parse_config("userknownhostsfile none\n").user_known_hosts.empty());
  CHECK(transport::parse_config("globalknownhostsfile none\n").global_known_hosts.empty());
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  const std::string global = (sshd.place.path / "global").string();
  const WorkingFolder here(sshd.place.path);
  sshd.make_known();
  std::filesystem::copy_file("known_hosts", "none");  // is not read either
  for (const auto client : {libssh2, by_openssh, automatic}) {
    auto options = with(sshd, "UserKnownHostsFile none\nGlobalKnownHostsFile " + global, client);
    options.known_hosts.clear();
    std::filesystem::remove(global);
    const auto exit = Client(options, sshd.endpoint(key))("true");
    REQUIRE_FALSE(exit);
    CHECK(exit.error().fault == base::Fault::host_key);
    if (client == libssh2) CHECK(exit.error().what.find("UserKnownHostsFile none") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(global));
    std::filesystem::copy_file("known_hosts", global);
    CHECK(Client(options, sshd.endpoint(key))("true"));
  }
}

TEST_CASE("ssh policy: RevokedHostKeys refuses a key, also where the file cannot be read") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  const std::string revoked = (sshd.place.path / "host_ed25519.pub").string();
  for (const std::string& file : {revoked, std::string("/nonexistent/revoked")})
    for (const auto client : {by_openssh, automatic, libssh2}) {
      CAPTURE(file);
      const auto exit = Client(with(sshd, "RevokedHostKeys " + file, client), sshd.endpoint(key))("true");
      REQUIRE_FALSE(exit);
      CHECK(exit.error().fault == base::Fault::host_key);
    }
  const auto empty = sshd.place.write("revokes_nothing", "");
  CHECK(Client(with(sshd, "RevokedHostKeys " + empty.string(), automatic), sshd.endpoint(key))("true"));
  CHECK(error_of(Client(with(sshd, "RevokedHostKeys " + empty.string(), libssh2), sshd.endpoint(key))("true"))
            .find("--ssh-client openssh") != std::string::npos);
}

TEST_CASE("ssh policy: a pinned key that known_hosts revokes is refused by both clients") {
  if (!can_serve()) return;
  Sshd sshd;
  auto endpoint = sshd.endpoint(sshd.user_key("ed", "ed25519"));
  endpoint.host_key = "none";
  const std::string said = error_of(Client(sshd.options(), endpoint)("true"));
  const auto from = said.find("SHA256:");
  REQUIRE(from != said.npos);
  endpoint.host_key = said.substr(from, said.find_first_of(" ,", from) - from);
  for (const auto client : {libssh2, by_openssh}) CHECK(Client(with(sshd, "", client), endpoint)("true"));
  sshd.place.write("known_hosts",
                   "@revoked * " + base::read_file(sshd.place.path / "host_ed25519.pub").value());
  for (const auto client : {libssh2, by_openssh, automatic})
    CHECK(error_of(Client(with(sshd, "", client), endpoint)("true")).find("revoked") != std::string::npos);
}

TEST_CASE("ssh policy: a pinned key is the only one that is accepted, whatever ssh would trust otherwise") {
  spec::Endpoint pinned{.address = "gpu7"};
  pinned.host_key = "SHA256:AAAA";
  const auto argv = transport::openssh_client({}, spec::HostKeys::accept_new, pinned);
  for (const char* option : {"-oVerifyHostKeyDNS=no", "-oNoHostAuthenticationForLocalhost=no"})
    CHECK(std::ranges::find(argv, option) != argv.end());
}

TEST_CASE("ssh policy: another host key than the pinned one is refused by every client") {
  if (!can_serve()) return;
  Sshd sshd;
  sshd.make_known();
  auto endpoint = sshd.endpoint(sshd.user_key("ed", "ed25519"));
  endpoint.host_key = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
  for (const auto client : {libssh2, by_openssh, automatic}) {
    const auto exit = Client(with(sshd, "NoHostAuthenticationForLocalhost yes\nVerifyHostKeyDNS yes", client),
                             endpoint)("true");
    REQUIRE_FALSE(exit);
    CHECK(exit.error().fault == base::Fault::host_key);
  }
}

TEST_CASE("ssh policy: the algorithms that the configuration allows are the ones that are used") {
  if (!can_serve()) return;
  Sshd sshd("LogLevel DEBUG1");
  const std::string key = sshd.user_key("ed", "ed25519");
  const auto ran = [&](const std::string& lines, spec::SshClient client) {
    const std::size_t before = sshd.log().size();
    const auto exit = Client(with(sshd, lines, client), sshd.endpoint(key))("true");
    return exit ? sshd.log().substr(before) : "failed: " + exit.error().what;
  };
  const auto has = [](const std::string& log, const std::string& words) {
    CAPTURE(log);
    CHECK(log.find(words) != std::string::npos);
  };
  has(ran("KexAlgorithms ecdh-sha2-nistp384", libssh2), "kex: algorithm: ecdh-sha2-nistp384");
  const std::string ctr = ran("Ciphers aes192-ctr\nMACs hmac-sha2-512", libssh2);
  has(ctr, "cipher: aes192-ctr MAC: hmac-sha2-512");
  // libssh2 has none of these.
  has(ran("MACs umac-128-etm@openssh.com\nCiphers aes128-ctr", automatic), "MAC: umac-128-etm@openssh.com");
  has(ran("MACs umac-128-etm@openssh.com", libssh2),
      "none of the algorithms in MACs of the ssh configuration");
  has(ran("HostKeyAlgorithms rsa-sha2-512", automatic), "failed: ");
  has(ran("", by_openssh), "cipher: aes128-gcm@openssh.com");
  has(ran("Ciphers chacha20-poly1305@openssh.com,aes256-ctr", by_openssh),
      "cipher: chacha20-poly1305@openssh.com");
}

TEST_CASE("ssh policy: the OpenSSH client gets the allowed ciphers, AES-GCM first") {
  Config config;
  CHECK(transport::openssh_ciphers(config).empty());
  config.ciphers = {"aes256-ctr"};
  CHECK(transport::openssh_ciphers(config).empty());
  config.ciphers = {"chacha20-poly1305@openssh.com", "aes128-ctr", "aes256-gcm@openssh.com"};
  CHECK(transport::openssh_ciphers(config) ==
        "aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes128-ctr");
}

TEST_CASE("ssh policy: KnownHostsCommand is asked, by the OpenSSH client") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  const std::string pub = base::read_file(sshd.place.path / "host_ed25519.pub").value();
  sshd.place.write("lines", fmt::format("[127.0.0.1]:{} {}", sshd.port, pub));
  const std::string knows =
      "StrictHostKeyChecking yes\nKnownHostsCommand /bin/cat " + (sshd.place.path / "lines").string();
  CHECK(Client(with(sshd, knows, automatic), sshd.endpoint(key))("true"));
  CHECK_FALSE(Client(with(sshd, "StrictHostKeyChecking yes\nKnownHostsCommand /bin/true", automatic),
                     sshd.endpoint(key))("true"));
}

TEST_CASE("ssh policy: no password is asked for where the configuration allows none") {
  if (!can_serve()) return;
  Sshd sshd;
  sshd.make_known();
  for (const char* lines : {"PasswordAuthentication no\nKbdInteractiveAuthentication no", "BatchMode yes",
                            "PreferredAuthentications publickey"}) {
    CAPTURE(lines);
    Asked asked;
    const auto exit =
        Client(with(sshd, lines, libssh2), sshd.endpoint("", "gpupw"), asked.functions())("true");
    REQUIRE_FALSE(exit);
    CHECK(exit.error().fault == base::Fault::auth);
    CHECK(exit.error().what.find("the ssh configuration excludes") != std::string::npos);
    CHECK(asked.prompts.empty());
  }
}

TEST_CASE("ssh policy: PubkeyAuthentication no and PubkeyAcceptedAlgorithms keep keys back") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  for (const char* lines : {"PubkeyAuthentication no", "PubkeyAcceptedAlgorithms rsa-sha2-512"}) {
    CAPTURE(lines);
    CHECK_FALSE(Client(with(sshd, lines, libssh2), sshd.endpoint(key))("true"));
    CHECK(sshd.log().find("Accepted publickey") == std::string::npos);
    CHECK(sshd.log().find("Failed publickey") == std::string::npos);
  }
}

TEST_CASE("ssh policy: a password for all hosts goes to none whose host key was accepted in this run") {
  if (!can_sudo()) return;
  Sshd sshd;
  sshd.make_known("127.0.0.1");
  Asked asked;
  auto session = transport::make_session(sshd.options(), asked.functions());
  transport::Fleet fleet(1, nullptr);
  for (const auto& [host, address] :
       {std::pair{"known", "127.0.0.1"}, {"new", "127.0.0.2"}, {"other", "127.0.0.3"}})
    fleet.add(host, transport::open(*session, host, sshd.endpoint("", "gpupw", address)));
  const auto all = [&] {
    for (const char* host : {"known", "new", "other"}) fleet.submit(host, as_root("true"));
    while (auto completion = fleet.next())
      if (!completion->result) FAIL(completion->result.error().what);
  };
  all();
  CHECK(
      asked.prompts ==
      std::vector<std::string>{
          "Password of gpupw (asked by known; sent to each of these that asks and has a known host key: "
          "known, new, other): ",
          "Password of gpupw for sudo (asked by known; sent to each of these that asks and has a known host "
          "key: known, new, other): ",
          "Password of gpupw on new only (its host key is new and was not verified): ",
          "Password of gpupw for sudo on new only (its host key is new and was not verified): ",
          "Password of gpupw on other only (its host key is new and was not verified): ",
          "Password of gpupw for sudo on other only (its host key is new and was not verified): "});
  all();
  CHECK(asked.prompts.size() == 6);
}

TEST_CASE("ssh policy: with the OpenSSH client, too, sudo's password stays with the hosts that were known") {
  if (!can_sudo()) return;
  Sshd sshd;
  sshd.make_known("127.0.0.1");
  const std::string key = sshd.user_key("ed", "ed25519");
  Asked asked;
  auto session = transport::make_session(with(sshd, "LogLevel QUIET", by_openssh), asked.functions());
  transport::Fleet fleet(1, nullptr);
  for (const auto& [host, address] : {std::pair{"known", "127.0.0.1"}, {"new", "127.0.0.2"}}) {
    fleet.add(host, transport::open(*session, host, sshd.endpoint(key, "gpupw", address)));
    fleet.submit(host, as_root("true"));
  }
  while (auto completion = fleet.next())
    if (!completion->result) FAIL(completion->result.error().what);
  REQUIRE(asked.prompts.size() == 2);
  CHECK(asked.prompts[0].find("has a known host key") != std::string::npos);
  CHECK(asked.prompts[1].find("on new only") != std::string::npos);
}

TEST_CASE("ssh policy: StrictHostKeyChecking of a jump host is its own") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  const std::string common =
      fmt::format("Host *\n  Port {}\n  User root\n  IdentityFile {}\n", sshd.port, key);
  const std::string strict =
      "Host 127.0.0.2\n  StrictHostKeyChecking yes\nMatch host 127.0.0.1\n  ProxyJump 127.0.0.2\n";
  const std::string lax = "Match host 127.0.0.1\n  ProxyJump 127.0.0.2\n";
  const std::string with_token =
      "Host jump.127.0.0.1\n  HostName 127.0.0.2\nHost 127.0.0.1\n  ProxyJump jump.%h\n";
  const std::string strict_too = "Host jump.*\n  StrictHostKeyChecking yes\n";
  CHECK_FALSE(Client(with(sshd, strict_too + with_token + common, libssh2), sshd.endpoint(""))("true"));
  CHECK_FALSE(Client(with(sshd, strict + common, libssh2), sshd.endpoint(""))("true"));
  CHECK(Client(with(sshd, with_token + common, libssh2), sshd.endpoint(""))("true"));
  CHECK(Client(with(sshd, lax + common, libssh2), sshd.endpoint(""))("true"));
}
