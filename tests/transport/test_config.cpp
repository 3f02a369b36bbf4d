#include "gpuadm/base/files.hpp"

#include "place.hpp"
#include "transport/ssh/config/config_cache.hpp"
#include "transport/ssh/config/tokens.hpp"

#include <doctest/doctest.h>

#include <pwd.h>
#include <unistd.h>

#include <algorithm>

using namespace testing_transport;
using transport::Config;

namespace {
Config ask(transport::ConfigCache& cache, const transport::ConfigQuestion& question) {
  while (true) {
    auto answer = cache.ask(question);
    REQUIRE(answer);
    if (*answer) return **answer;
    std::vector<pollfd> fds;
    cache.interests(question, fds);
    ::poll(fds.data(), fds.size(), 100);
  }
}
}  // namespace

TEST_CASE("ssh config: the keys of `ssh -G` that matter are read, the rest is skipped") {
  const Config config = transport::parse_config(
      "host alias\nuser me\nhostname 192.0.2.7\nport 2222\nidentitiesonly yes\nidentityfile "
      "~/.ssh/a\nidentityfile /b\n"
      "userknownhostsfile /k1 /k2\nproxyjump none\nproxycommand none\nhashknownhosts yes\nhostkeyalias "
      "real\nnonsense\nnew 1\n");
  CHECK(config.user == "me");
  CHECK(config.host_name == "192.0.2.7");
  CHECK(config.port == 2222);
  CHECK(config.identities_only);
  CHECK(config.identity_files == std::vector<std::string>{"~/.ssh/a", "/b"});
  CHECK(config.user_known_hosts == std::vector<std::string>{"/k1", "/k2"});
  CHECK(config.proxy_jump.empty());
  CHECK(config.proxy_command.empty());
  CHECK(config.hash_known_hosts);
  CHECK(config.key_alias == "real");
}

TEST_CASE("ssh config: tokens and the home directory are expanded") {
  Config config;
  config.host_name = "10.0.0.1";
  config.port = 2222;
  config.user = "me";
  using transport::Expansion, transport::expand;
  ::setenv("GPUADM_TEST", "a value", 1);
  CHECK(expand("/x/%h-%p-%r-%n-%k-%%", config, "alias") == "/x/10.0.0.1-2222-me-alias-alias-%");
  CHECK(expand("~/${GPUADM_TEST}/k", config, "alias") == base::home().string() + "/a value/k");
  CHECK(expand("~//k$", config, "alias", Expansion::tilde) == base::home().string() + "//k$");
  CHECK(expand("~/%h ${X}", config, "alias", Expansion::tilde) == base::home().string() + "/%h ${X}");
  CHECK(expand("~ %h %n %p %r %%", config, "alias", Expansion::proxy) == "~ 10.0.0.1 alias 2222 me %");
  config.key_alias = "other";
  CHECK(expand("%k", config, "alias") == "other");
  // What only OpenSSH knows.
  for (const char* text : {"%C", "%j", "%z", "100%", "~user/k", "${GPUADM_UNSET}", "${GPUADM_TEST"})
    CHECK_FALSE(expand(text, config, "alias"));
  for (const char* text : {"%d", "%"}) CHECK_FALSE(expand(text, config, "alias", Expansion::proxy));
  for (const char* text : {"/k/%h", "/k/${X}", "~user/k"})
    CHECK_FALSE(expand(text, config, "alias", Expansion::completed));
}

TEST_CASE("ssh config: hosts that the configuration does not distinguish share one answer of ssh") {
  if (!std::filesystem::exists("/usr/bin/ssh")) {
    MESSAGE("left out: needs openssh-client");
    return;
  }
  Place place;
  const std::string included = place.write("more", "Host gpu*\n  User deep\n").string();
  transport::ConfigCache cache(
      place.write("config", "Include " + included +
                                "\nHost short\n  HostName long.example.com\n  Port 2200\n"
                                "Host *.named\n  HostName %h.example.com\nHost *\n  User all\n"));
  CHECK(ask(cache, {"one", "", 0}).user == "all");
  CHECK(ask(cache, {"two", "", 0}).host_name == "two");
  CHECK(ask(cache, {"three", "", 0}).host_name == "three");
  CHECK(cache.questions() == 1);
  CHECK(ask(cache, {"gpu1", "", 0}).user == "deep");
  CHECK(ask(cache, {"GPU2", "", 0}).host_name == "gpu2");
  CHECK(ask(cache, {"GPU2", "", 0}).user == "all");  // as ssh: the case of an address matters for Host
  CHECK(ask(cache, {"short", "", 0}).host_name == "long.example.com");
  CHECK(ask(cache, {"short", "", 0}).port == 2200);
  CHECK(ask(cache, {"short", "me", 22}).port == 22);
  CHECK(ask(cache, {"short", "me", 22}).user == "me");
  CHECK(ask(cache, {"a.named", "", 0}).host_name == "a.named.example.com");
  CHECK(ask(cache, {"b.named", "", 0}).host_name == "b.named.example.com");
}

TEST_CASE("ssh config: a host is woken by an answer that another one took") {
  if (!std::filesystem::exists("/usr/bin/ssh")) {
    MESSAGE("left out: needs openssh-client");
    return;
  }
  Place place;
  transport::ConfigCache cache(
      place.write("config", "Host *.named\n  HostName %h.example.com\nHost *\n  User all\n"));
  REQUIRE(cache.ask({"one", "", 0}));
  REQUIRE(cache.ask({"a.named", "", 0}));
  CHECK(ask(cache, {"one", "", 0}).user == "all");
  CHECK(cache.ready({"two", "", 0}));
  // These two turn out to need an answer each.
  CHECK(ask(cache, {"a.named", "", 0}).host_name == "a.named.example.com");
  CHECK(ask(cache, {"c.named", "", 0}).host_name == "c.named.example.com");
  CHECK(cache.ready({"b.named", "", 0}));
}

TEST_CASE("ssh config: a Match line makes every host its own question") {
  if (!std::filesystem::exists("/usr/bin/ssh")) {
    MESSAGE("left out: needs openssh-client");
    return;
  }
  Place place;
  transport::ConfigCache cache(place.write("config", "Match host b\n  User matched\nHost *\n  User all\n"));
  CHECK(ask(cache, {"a", "", 0}).user == "all");
  CHECK(ask(cache, {"b", "", 0}).user == "matched");
}

TEST_CASE("ssh config: files that are named after their host are each host's own") {
  if (!std::filesystem::exists("/usr/bin/ssh")) {
    MESSAGE("left out: needs openssh-client");
    return;
  }
  Place place;
  transport::ConfigCache named(place.write("named", "UserKnownHostsFile /k/%k\nIdentityAgent \"/a/%h\"\n"));
  for (const std::string host : {"gpu01", "gpu02"}) {
    const Config config = ask(named, {host, "", 0});
    CHECK(config.user_known_hosts == std::vector<std::string>{"/k/" + host});
    CHECK(config.identity_agent == "/a/" + host);
  }
  transport::ConfigCache hashed(place.write("hashed", "IdentityAgent=/a/%C\n"));
  CHECK(ask(hashed, {"gpu01", "", 0}).identity_agent != ask(hashed, {"gpu02", "", 0}).identity_agent);
  // Which files are read depends on the host in newer versions of OpenSSH.
  place.write("gpu01.conf", "User first\n");
  const transport::HostPatterns includes(
      place.write("includes", "Include " + place.path.string() + "/%h.conf\n"));
  CHECK(includes.class_of("gpu01") != includes.class_of("gpu02"));
  // Tokens of this machine, and settings that gpuadm does not use, make no difference.
  transport::ConfigCache same(
      place.write("same", "IdentityAgent %d/agent-%u\nControlPath ~/.ssh/%C\nUserKnownHostsFile ~/k\n"));
  ask(same, {"gpu01", "", 0});
  ask(same, {"gpu02", "", 0});
  CHECK(same.questions() == 1);
}

TEST_CASE("ssh config: a broken file is reported with ssh's message") {
  if (!std::filesystem::exists("/usr/bin/ssh")) {
    MESSAGE("left out: needs openssh-client");
    return;
  }
  Place place;
  transport::ConfigCache cache(place.write("config", "Nonsense yes\n"));
  std::optional<base::Error> error;
  for (int i = 0; i < 10000 && !error; ++i) {
    if (auto answer = cache.ask({"a", "", 0}); !answer) error = answer.error();
    ::usleep(1000);
  }
  REQUIRE(error);
  CHECK(error->fault == base::Fault::spec);
  CHECK(error->what.find("nonsense") != std::string::npos);
}

TEST_CASE("ssh config: the way through a jump host is ssh's own") {
  Config config;
  config.host_name = "fd00::1";
  config.port = 2222;
  config.proxy_jump = "me@first:22,second";
  const auto argv = transport::proxy_of(config, "gpu7", {});
  const auto has = [&](const std::string& word) {
    return std::find(argv.begin(), argv.end(), word) != argv.end();
  };
  CHECK(has("[fd00::1]:2222"));
  CHECK(has("me@first:22"));
  CHECK(argv.back() == "ssh://second");
  config.proxy_jump = "%r@first,jump.%n";
  config.user = "me";
  const auto expanded = transport::proxy_of(config, "gpu7", {});
  CHECK(std::ranges::find(expanded, "me@first") != expanded.end());
  CHECK(expanded.back() == "ssh://jump.gpu7");
  config.proxy_jump.clear();
  config.proxy_command = "nc %h %p";
  ::setenv("SHELL", "/bin/sh", 1);
  CHECK(transport::proxy_of(config, "gpu7", {}) ==
        std::vector<std::string>{"/bin/sh", "-c", "exec nc fd00::1 2222"});
  config.proxy_command.clear();
  CHECK(transport::proxy_of(config, "gpu7", {}).empty());
}

TEST_CASE("ssh config: patterns match as ssh_config(5) says") {
  CHECK(transport::matches("gpu17", "gpu*"));
  CHECK(transport::matches("gpu17", "gpu?7"));
  CHECK(transport::matches("", "*"));
  CHECK_FALSE(transport::matches("gpu", "gpu?"));
  CHECK(transport::matches("a.b.c", "*.b.*"));
  CHECK_FALSE(transport::matches_list("bad", {"*", "!bad"}));
  CHECK(transport::matches_list("good", {"good"}));
  CHECK_FALSE(transport::matches_list("Good", {"good"}));
  CHECK_FALSE(transport::matches_list("x", {"!y"}));
}
