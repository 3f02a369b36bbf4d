#include "gpuadm/base/text.hpp"

#include <doctest/doctest.h>

#include <set>
//
#include "own_home.hpp"

using namespace testing_transport;

namespace {

/// What a login leads to.
struct Outcome {
  std::string result;             ///< "root", "gpu", "refused", "denied" or "failed"
  std::set<std::string> written;  ///< known_hosts files that changed
  std::string text;
  bool operator==(const Outcome& other) const { return result == other.result && written == other.written; }
};

struct Lab {
  const Sshd& sshd;
  std::filesystem::path home;
  std::map<std::string, std::string> files;  ///< known_hosts files of the case

  void write_files() const {
    for (const char* folder : {".ssh", "etc"})
      for (const auto& old : std::filesystem::directory_iterator(home / folder))
        if (old.path().filename().string().starts_with("kh")) std::filesystem::remove(old.path());
    for (const auto& [name, text] : files) std::ofstream(home / name) << text;
  }
  std::set<std::string> changed() const {
    std::set<std::string> found;
    for (const char* folder : {".ssh", "etc"})
      for (const auto& entry : std::filesystem::directory_iterator(home / folder)) {
        const std::string name = std::string(folder) + "/" + entry.path().filename().string();
        const auto before = files.find(name);
        if (!entry.path().filename().string().starts_with("kh")) continue;
        if (before == files.end() || before->second != base::read_file(entry.path()).value_or(""))
          found.insert(name);
      }
    return found;
  }
};

Outcome by_ssh(const Lab& lab, const std::string& host) {
  const std::string config = answer_of({"ssh", "-G", host}).text;
  const bool strict = config.find("stricthostkeychecking true") != std::string::npos;
  lab.write_files();
  const Answer real =
      answer_of({"ssh", "-oBatchMode=yes", "-oConnectTimeout=10", "-oUpdateHostKeys=no",
                 strict ? "-oStrictHostKeyChecking=yes" : "-oStrictHostKeyChecking=accept-new", host,
                 "echo user=$(id -un)"});
  const auto message = [&](const char* words) { return real.text.find(words) != std::string::npos; };
  const std::size_t user = real.text.find("user=");
  return {user != std::string::npos ? real.text.substr(user + 5, real.text.find('\n', user) - user - 5)
          : message("Host key verification failed") ? "refused"
          : message("Permission denied")            ? "denied"
                                                    : "failed",
          lab.changed(), real.text};
}

Outcome by_gpuadm(const Lab& lab, const std::string& host, int& delegated) {
  lab.write_files();
  transport::Operator person;
  person.notify = [&](const std::string&, const std::string& line) {
    delegated += line.starts_with("using the OpenSSH client");
  };
  const auto exit = Client(home_options(), {.address = host}, person)("id -un");
  const std::string error = exit ? "" : exit.error().what + "; " + exit.error().hint;
  return {exit                                          ? exit->out.substr(0, exit->out.size() - 1)
          : exit.error().fault == base::Fault::host_key ? "refused"
          : exit.error().fault == base::Fault::auth     ? "denied"
                                                        : "failed",
          lab.changed(), error};
}

std::string config_of(Choice& choice, std::uint16_t port) {
  const auto user_files = choice.of(
      {"", "", "", "", "UserKnownHostsFile \"~/.ssh/kh one\"", "UserKnownHostsFile ~/.ssh/kh1 ~/.ssh/kh2",
       "UserKnownHostsFile \"~/.ssh/kh one\" ~/.ssh/kh2", "UserKnownHostsFile ~/.ssh/kh\\ one",
       "UserKnownHostsFile '~/.ssh/kh one'", "UserKnownHostsFile ${KH}", "UserKnownHostsFile ~/.ssh/kh%%1",
       "UserKnownHostsFile ~/.ssh/kh_%n", "UserKnownHostsFile ~/.ssh/kh_%k", "UserKnownHostsFile none",
       "UserKnownHostsFile ~/.ssh/kh1", "UserKnownHostsFile %d/.ssh/kh2"});
  const auto global_files = choice.of(
      {"", "", "", "", "", "GlobalKnownHostsFile ~/etc/kh1", "GlobalKnownHostsFile \"~/etc/kh one\"",
       "GlobalKnownHostsFile ~/etc/kh1 \"~/etc/kh one\"", "GlobalKnownHostsFile none"});
  const auto identity = choice.of(
      {"~/.ssh/id_good", "~/.ssh/id_good", "%d/.ssh/id_good", "${SSHHOME}/id_good", "\"~/.ssh/id blank\"",
       "~/.ssh/id_%L_%i", "~/.ssh/id_%l", "~/.ssh/id_%n", "~/.ssh/id_%k", "~/.ssh/id_%h_%p", "~/.ssh/id_%C",
       "~/.ssh/id_%u%%", "~root/.ssh/id_good", "~/.ssh/id_bad", "none", "${UNSET}/id_good"});
  const auto more = choice.of({"",
                               "",
                               "",
                               "",
                               "",
                               "",
                               "StrictHostKeyChecking yes",
                               "HostKeyAlias alias",
                               "User gpu",
                               "AddressFamily inet",
                               "AddressFamily inet6",
                               "ProxyUseFdpass no",
                               "RekeyLimit 1G",
                               "BindAddress 127.0.0.1",
                               "RevokedHostKeys ~/.ssh/revoked",
                               "Include \"~/my conf\"",
                               "HostKeyAlgorithms ssh-ed25519",
                               "CheckHostIP yes",
                               "BatchMode yes",
                               "RemoteCommand none"});
  return fmt::format(
      "Host one\n  HostName 127.0.0.1\nHost two\n  HostName 127.0.0.2\nHost *\n  Port {}\n  IdentitiesOnly "
      "yes\n"
      "  IdentityAgent none\n  {}\n  {}\n  IdentityFile {}\n  {}\n  User root\n",
      port, user_files, global_files, identity, more);
}

std::string host_key_lines(Choice& choice, const Sshd& sshd, const std::string& right,
                           const std::string& other) {
  const std::string name = choice.of({fmt::format("[127.0.0.1]:{}", sshd.port), "alias", "127.0.0.1", "*",
                                      fmt::format("[127.0.0.2]:{}", sshd.port)});
  return choice.of(
      {"", "", name + " " + right, name + " " + right, name + " " + other, "@revoked " + name + " " + right});
}

}  // namespace

TEST_CASE("like ssh: logins under generated configurations end as with ssh, and write the same files") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string good = sshd.user_key("good", "ed25519");
  sshd.make_key("bad", "ed25519");
  sshd.make_key("other_host", "ed25519");
  const auto text = [&](const std::string& name) { return base::read_file(sshd.place.path / name).value(); };
  in_own_home([&](const std::filesystem::path& home) {
    std::filesystem::create_directories(home / "etc");
    std::ofstream(home / "my conf") << "Host one\n  User gpu\nHost two\n  User root\n";
    char machine[256] = "";
    ::gethostname(machine, sizeof machine - 1);
    const std::string long_name = machine, short_name = long_name.substr(0, long_name.find('.'));
    const std::string port = std::to_string(sshd.port);
    std::vector<std::string> names{
        "id_good", "id blank", "id_" + short_name + "_0", "id_" + long_name, "id_one",
        "id_two",  "id_alias", "id_127.0.0.1_" + port,    "id_root%"};
    names.push_back("id_" + answer_of({"sh", "-c",
                                       "printf %s " + long_name + "127.0.0.1" + port +
                                           "root | sha1sum | cut -c1-40 | tr -d '\\n'"})
                                .text);
    for (const auto& name : names) std::ofstream(home / ".ssh" / name) << text("good");
    std::ofstream(home / ".ssh/id_bad") << text("bad");
    for (const auto& entry : std::filesystem::directory_iterator(home / ".ssh"))
      std::filesystem::permissions(entry.path(), std::filesystem::perms(0600));
    ::setenv("KH", (home / ".ssh/kh one").c_str(), 1);
    ::setenv("SSHHOME", (home / ".ssh").c_str(), 1);
    ::unsetenv("UNSET");
    // On a busy machine it takes longer: fewer logins would test less.
    const auto until = std::chrono::steady_clock::now() + 35s;
    constexpr int fewest = 20;
    int logins = 0, delegated = 0, stricter = 0;
    std::map<std::string, int> seen;
    for (unsigned seed = 1; seed <= 100 && (logins < fewest || std::chrono::steady_clock::now() < until);
         ++seed) {
      Choice choice(seed);
      const std::string config = config_of(choice, sshd.port);
      std::ofstream(home / ".ssh/config") << config;
      std::ofstream(home / ".ssh/revoked") << (choice.one_in(2) ? text("host_ed25519.pub") : "");
      Lab lab{sshd, home, {}};
      for (const char* name : {".ssh/kh1", ".ssh/kh2", ".ssh/kh one", ".ssh/kh_one", ".ssh/kh_alias",
                               ".ssh/kh%1", "etc/kh1", "etc/kh one"})
        if (!choice.one_in(3))
          lab.files[name] = host_key_lines(choice, sshd, text("host_ed25519.pub"), text("other_host.pub"));
      for (const std::string host : {"one", "two"}) {
        const Outcome real = by_ssh(lab, host);
        const Outcome mine = by_gpuadm(lab, host, delegated);
        CAPTURE(seed);
        CAPTURE(host);
        CAPTURE(config);
        CAPTURE(real.text);
        CAPTURE(mine.text);
        CAPTURE(base::join(std::vector(real.written.begin(), real.written.end()), ", "));
        CAPTURE(base::join(std::vector(mine.written.begin(), mine.written.end()), ", "));
        ++logins, ++seen[real.result];
        const bool is_stricter = mine.result == "refused" && mine.written.empty() &&
                                 real.result != "refused" &&
                                 mine.text.find("is revoked in") != std::string::npos;
        stricter += is_stricter;
        if (!is_stricter) {
          CHECK(mine.result == real.result);
          CHECK(mine.written == real.written);
        }
      }
    }
    MESSAGE(logins, " logins: as root ", seen["root"], ", as gpu ", seen["gpu"], ", host key refused ",
            seen["refused"], ", no key ", seen["denied"], ", failed ", seen["failed"], "; gpuadm leaves ",
            delegated, " to ssh, refuses ", stricter, " more");
    CHECK(logins >= fewest);
    CHECK(delegated * 4 < logins * 3);
  });
}

TEST_CASE("known hosts: a file with a blank in its name is the one that is read and written") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  sshd.make_key("other", "ed25519");
  in_own_home([&](const std::filesystem::path& home) {
    std::ofstream(home / ".ssh/config") << "UserKnownHostsFile \"~/.ssh/my kh\"\nIdentityAgent none\n";
    const std::string name = fmt::format("[127.0.0.1]:{} ", sshd.port);
    std::ofstream(home / ".ssh/my kh") << name << base::read_file(sshd.place.path / "other.pub").value();
    CHECK_FALSE(Client(home_options(), sshd.endpoint(key))("true"));
    std::ofstream(home / ".ssh/my kh") << "";
    CHECK(Client(home_options(), sshd.endpoint(key))("true"));
    CHECK(base::read_file(home / ".ssh/my kh")->starts_with(name));
    CHECK_FALSE(std::filesystem::exists(home / ".ssh/my"));
    // The names are the user's: libssh2 alone is not an answer.
    const auto exit = Client(home_options(spec::SshClient::libssh2), sshd.endpoint(key))("true");
    REQUIRE_FALSE(exit);
    CHECK(exit.error().what.find("UserKnownHostsFile") != std::string::npos);
  });
}

TEST_CASE("ssh policy: a pinned key that is revoked in a file with a blank in its name is refused") {
  if (!can_serve()) return;
  Sshd sshd;
  auto endpoint = sshd.endpoint(sshd.user_key("ed", "ed25519"));
  const std::string pub = base::read_file(sshd.place.path / "host_ed25519.pub").value();
  const std::string shown =
      answer_of({"ssh-keygen", "-lf", (sshd.place.path / "host_ed25519.pub").string()}).text;
  endpoint.host_key = shown.substr(shown.find("SHA256:"), 50);
  in_own_home([&](const std::filesystem::path& home) {
    std::ofstream(home / ".ssh/config") << "UserKnownHostsFile \"~/.ssh/my kh\"\nIdentityAgent none\n";
    CHECK(Client(home_options(), endpoint)("true"));
    std::ofstream(home / ".ssh/my kh") << "@revoked * " << pub;
    CHECK_FALSE(Client(home_options(), endpoint)("true"));
  });
}
