#include "gpuadm/base/text.hpp"

#include "transport/ssh/config/config_cache.hpp"

#include <doctest/doctest.h>

#include <map>
//
#include "own_home.hpp"

using namespace testing_transport;
using transport::Config;

namespace {

/// The values of an answer that gpuadm uses.
std::map<std::string, std::string> values(const Config& config) {
  const auto words = [](const std::vector<std::string>& list) { return base::join(list, "\n"); };
  return {{"hostname", config.host_name},
          {"user", config.user},
          {"port", std::to_string(config.port)},
          {"hostkeyalias", config.key_alias},
          {"identityfile", words(config.identity_files)},
          {"certificatefile", words(config.certificate_files)},
          {"userknownhostsfile", words(config.user_known_hosts)},
          {"globalknownhostsfile", words(config.global_known_hosts)},
          {"identityagent", config.identity_agent},
          {"proxycommand", config.proxy_command},
          {"proxyjump", config.proxy_jump},
          {"stricthostkeychecking", config.strict ? "yes" : "no"},
          {"revokedhostkeys", config.revoked_host_keys},
          {"ciphers", words(config.ciphers)}};
}

Config asked(transport::ConfigCache& cache, const std::string& host) {
  const transport::ConfigQuestion question{host, "", 0};
  while (true) {
    auto answer = cache.ask(question);
    if (!answer) FAIL(answer.error().what);
    if (*answer) return **answer;
    std::vector<pollfd> fds;
    cache.interests(question, fds);
    ::poll(fds.data(), fds.size(), 100);
  }
}

std::string setting(Choice& choice) {
  return choice.of({"User one",
                    "User two",
                    "User=three",
                    "Port 2200",
                    "HostName 127.0.0.1",
                    "HostName %h.example.com",
                    "HostKeyAlias alias",
                    "IdentityFile ~/.ssh/a",
                    "IdentityFile \"~/.ssh/a b\"",
                    "IdentityFile ~/.ssh/%h",
                    "IdentityAgent ~/agents/%n",
                    "UserKnownHostsFile \"~/.ssh/my kh\"",
                    "UserKnownHostsFile ~/.ssh/%k ~/b",
                    "UserKnownHostsFile ~/.ssh/100%%",
                    "UserKnownHostsFile none",
                    "GlobalKnownHostsFile \"/etc/ssh/a b\" /c",
                    "ProxyJump me@jump:22",
                    "ProxyCommand nc %h %p",
                    "StrictHostKeyChecking yes",
                    "Ciphers aes256-ctr",
                    "RevokedHostKeys ~/revoked",
                    "CertificateFile ~/.ssh/%r-cert.pub",
                    "User = 'four'",
                    "User five # six"});
}

std::string condition(Choice& choice) {
  return choice.of({"Host gpu*", "Host gpu1", "Host=gpu2 login", "Host \"gpu1\"", "Host 'gpu2'",
                    "Host * !gpu1", "Host gpu2 # gpu1 *", "host = log?n", "HOST\tgpu1\tgpu2", "Host *",
                    "Match host gpu1", "Match all", "Match originalhost login user root", "Host gpu\\1",
                    "\"Host\" gpu2", "Host !gpu2 gpu?", "Host 192.0.2.0?0"});
}

std::string inclusion(Choice& choice) {
  return choice.of({"Include \"~/my conf\"", "Include more/*", "Include ~/my\\ conf", "Include 'more/a'",
                    "Include nothing", "Include more/a more/b"});
}

/// `lines` lines, most of them settings.
std::string config_file(Choice& choice, int lines, bool may_include) {
  std::string text;
  for (int line = 0; line < lines; ++line) {
    if (choice.one_in(3))
      text += condition(choice);
    else if (may_include && choice.one_in(4))
      text += inclusion(choice);
    else
      text += "  " + setting(choice);
    text += choice.one_in(9) ? "\r\n" : "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("like ssh: every host gets the values that ssh -G prints for it, from generated configurations") {
  if (!can_serve()) return;
  in_own_home([](const std::filesystem::path& home) {
    constexpr unsigned configurations = 90;
    int answers = 0, queries = 0;
    for (unsigned seed = 1; seed <= configurations; ++seed) {
      Choice choice(seed);
      const auto write = [&](const char* name, int lines, bool may_include) {
        const auto path = home / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << config_file(choice, lines, may_include);
      };
      write(".ssh/config", 8, true);
      write("my conf", 3, false);
      write(".ssh/more/a", 3, false);
      write(".ssh/more/b", 3, false);
      std::ofstream("/etc/ssh/ssh_config") << "Host *\n  HashKnownHosts yes\n  User system\n";
      transport::ConfigCache cache("");
      for (const std::string host : {"gpu1", "gpu2", "login", "192.0.2.010", "GPU1"}) {
        const Answer real = answer_of({"ssh", "-G", "--", host});
        if (real.status != 0) continue;
        const auto mine = values(asked(cache, host)), theirs = values(transport::parse_config(real.text));
        for (const auto& [name, value] : theirs) {
          CAPTURE(seed);
          CAPTURE(host);
          CAPTURE(name);
          CHECK(mine.at(name) == value);
          ++answers;
        }
      }
      queries += static_cast<int>(cache.questions());
    }
    MESSAGE(answers, " values are the same, with ", queries, " calls of ssh by gpuadm");
    CHECK(answers >= 500);
  });
}

TEST_CASE("ssh config: the second host does not get the first one's user from an Include with a blank") {
  if (!can_serve()) return;
  in_own_home([](const std::filesystem::path& home) {
    std::ofstream(home / ".ssh/config") << "Include \"~/my conf\"\n";
    std::ofstream(home / "my conf") << "Host gpu1\n  User one\nHost gpu2\n  User two\n";
    transport::ConfigCache cache("");
    CHECK(asked(cache, "gpu1").user == "one");
    CHECK(asked(cache, "gpu2").user == "two");
  });
}

TEST_CASE("ssh config: hosts share an answer only where every Host line is understood") {
  if (!can_serve()) return;
  in_own_home([](const std::filesystem::path& home) {
    for (const char* condition : {"Host \"gpu1\"", "Host gpu1 # *", "\"Host\" gpu1", "Host=gpu1"}) {
      CAPTURE(condition);
      std::ofstream(home / ".ssh/config") << condition << "\n  User one\nHost *\n  User all\n";
      transport::ConfigCache cache("");
      CHECK(asked(cache, "gpu1").user == "one");
      CHECK(asked(cache, "gpu2").user == "all");
    }
    // 64 hosts in two classes: two calls of ssh.
    std::ofstream(home / ".ssh/config") << "Host gpu1 gpu2\n  User one\nHost *\n  User all\n";
    transport::ConfigCache cache("");
    for (int i = 1; i <= 64; ++i)
      CHECK(asked(cache, fmt::format("gpu{}", i)).user == (i <= 2 ? "one" : "all"));
    CHECK(cache.questions() == 2);
  });
}
