#include "gpuadm/base/text.hpp"

#include "transport/ssh/keys/bytes.hpp"

#include <doctest/doctest.h>
#include <openssl/hmac.h>
//
#include "own_home.hpp"

using namespace testing_transport;

namespace {

std::string public_key(const Sshd& sshd, const std::string& name) {
  const std::string text = base::read_file(sshd.place.path / (name + ".pub")).value();
  return text.substr(0, text.rfind(' '));
}

/// "|1|SALT|HASH" of a name.
std::string hashed(const std::string& name) {
  const std::string salt(20, 's');
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  ::HMAC(EVP_sha1(), salt.data(), static_cast<int>(salt.size()),
         reinterpret_cast<const unsigned char*>(name.data()), name.size(), digest, &size);
  return fmt::format("|1|{}|{}", base::base64(salt), base::base64({reinterpret_cast<char*>(digest), size}));
}

struct Keys {
  std::string port, right, others, other_type;
};

std::string name_in_file(Choice& choice, const Keys& keys) {
  const std::string bare = "127.0.0.1", full = fmt::format("[127.0.0.1]:{}", keys.port);
  return choice.of({bare, full, full, full, "*", "127.0.0.?", "[127.0.0.1]:*", "!" + full + ",*",
                    "gpu9," + full, "[192.0.2.1]:22", hashed(full), hashed(bare), hashed("gpu9"), "|1|broken",
                    hashed(full).substr(0, hashed(full).size() - 1), "other,!127.0.0.*,*", "[127.0.0.1]:22",
                    full + "," + bare});
}

std::string key_in_file(Choice& choice, const Keys& keys) {
  const std::string body = keys.right.substr(keys.right.find(' ') + 1);
  return choice.of({keys.right, keys.right, keys.others, keys.other_type, keys.right.substr(0, 50),
                    "ssh-ed25519 !!!!", "ssh-ed25519", "ssh-rsa " + body, "ssh-foo " + body,
                    "ecdsa-sha2-nistp256 " + body, "1024 35 1234567890", keys.right + " and a comment",
                    keys.right + "A", "\t" + keys.right, "# " + keys.right});
}

std::string mark_in_file(Choice& choice) {
  return choice.of({"", "", "", "", "", "@revoked ", "@revoked ", "@cert-authority ", "@other ",
                    "@revoked @revoked ", "@revoked\t", " ", "#", "\t"});
}

std::string known_hosts(Choice& choice, const Keys& keys) {
  std::string text;
  do {
    text += mark_in_file(choice) + name_in_file(choice, keys) + choice.of({" ", " ", "\t", "  "}) +
            key_in_file(choice, keys) + choice.of({"\n", "\n", "\r\n", "\n\n", " \n"});
  } while (!choice.one_in(3));
  return text;
}

enum class Verdict { accepted, refused, failed };

Verdict verdict_of_ssh(const Sshd& sshd, const std::string& strict) {
  const Answer real =
      answer_of({"ssh", "-oBatchMode=yes", "-oConnectTimeout=10", "-oPreferredAuthentications=none",
                 "-oStrictHostKeyChecking=" + strict, "-p", std::to_string(sshd.port), "root@127.0.0.1"});
  if (real.text.find("Permission denied") != std::string::npos) return Verdict::accepted;
  return real.text.find("Host key verification failed") != std::string::npos ? Verdict::refused
                                                                             : Verdict::failed;
}

}  // namespace

TEST_CASE("like ssh: generated known_hosts files are believed as ssh believes them, or less") {
  if (!can_serve()) return;
  Sshd sshd;
  sshd.make_key("other", "ed25519");
  sshd.make_key("ec", "ecdsa");
  const Keys keys{std::to_string(sshd.port), public_key(sshd, "host_ed25519"), public_key(sshd, "other"),
                  public_key(sshd, "ec")};
  in_own_home([&](const std::filesystem::path& home) {
    std::ofstream(home / ".ssh/config") << "PreferredAuthentications publickey\nIdentityFile none\n"
                                           "IdentityAgent none\nUpdateHostKeys no\n";
    const auto until = std::chrono::steady_clock::now() + 25s;
    constexpr int fewest = 20;  // also on a busy machine
    int files = 0, delegated = 0, stricter = 0;
    std::map<Verdict, int> seen;
    for (unsigned seed = 1; seed <= 160 && (files < fewest || std::chrono::steady_clock::now() < until);
         ++seed) {
      Choice choice(seed);
      const std::string text = known_hosts(choice, keys);
      const bool strict = choice.one_in(2);
      const auto write = [&] { std::ofstream(home / ".ssh/known_hosts") << text; };
      write();
      const Verdict real = verdict_of_ssh(sshd, strict ? "yes" : "accept-new");
      write();
      auto options = home_options(spec::SshClient::libssh2);
      options.host_keys = strict ? spec::HostKeys::strict : spec::HostKeys::accept_new;
      const auto exit = Client(options, sshd.endpoint(""))("true");
      REQUIRE_FALSE(exit);
      CAPTURE(seed);
      CAPTURE(text);
      CAPTURE(strict);
      CAPTURE(exit.error().what);
      REQUIRE(real != Verdict::failed);
      ++seen[real];
      ++files;
      if (exit.error().hint.find("--ssh-client openssh") != std::string::npos) {
        ++delegated;
        continue;
      }
      const bool accepted = exit.error().fault == base::Fault::auth;
      if (!accepted && real == Verdict::accepted) {
        // ssh accepts a key that is revoked under the name without its port as a new one.
        CHECK(exit.error().what.find("is revoked in") != std::string::npos);
        ++stricter;
      }
      CHECK((!accepted || real == Verdict::accepted));
    }
    MESSAGE(files, " known_hosts files: ssh accepts ", seen[Verdict::accepted], ", refuses ",
            seen[Verdict::refused], "; gpuadm leaves ", delegated, " to ssh, refuses ", stricter, " more");
    CHECK(files >= fewest);
    CHECK(stricter * 10 < files);
    CHECK(delegated * 3 < files * 2);
  });
}

TEST_CASE("known hosts: a key that is revoked under the name without its port is refused") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  const std::string pub = base::read_file(sshd.place.path / "host_ed25519.pub").value();
  for (const std::string& revoked : {std::string("127.0.0.1"), std::string("127.*"), hashed("127.0.0.1")})
    for (const auto policy : {spec::HostKeys::strict, spec::HostKeys::accept_new}) {
      CAPTURE(revoked);
      auto options = sshd.options();
      options.host_keys = policy;
      sshd.place.write("known_hosts", "@revoked " + revoked + " " + pub + "127.0.0.1 " + pub);
      const auto exit = Client(options, sshd.endpoint(key))("true");
      REQUIRE_FALSE(exit);
      CHECK(exit.error().fault == base::Fault::host_key);
      CHECK(exit.error().what.find("the host key is revoked in ") != std::string::npos);
    }
}

TEST_CASE("known hosts: a damaged line is named, and does not count as a changed key") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  const std::string pub = public_key(sshd, "host_ed25519");
  const std::string name = fmt::format("[127.0.0.1]:{} ", sshd.port);
  for (const std::string& damaged :
       {pub.substr(0, 50), std::string("ssh-ed25519 !!!!"), std::string("ssh-ed25519"), "ssh-foo " + pub}) {
    CAPTURE(damaged);
    sshd.place.write("known_hosts", name + damaged + "\n");
    auto options = sshd.options();
    options.host_keys = spec::HostKeys::strict;
    const auto exit = Client(options, sshd.endpoint(key))("true");
    REQUIRE_FALSE(exit);
    CHECK(exit.error().what.find("has changed") == std::string::npos);
    CHECK(exit.error().what.find("known_hosts:1 names it, but has no key that gpuadm can read") !=
          std::string::npos);
    // ssh does not know the host's key either, and with the usual policy stores it.
    options.client = spec::SshClient::automatic;
    CHECK_FALSE(Client(options, sshd.endpoint(key))("true"));
    options.host_keys = spec::HostKeys::accept_new;
    CHECK(Client(options, sshd.endpoint(key))("true"));
    // With a key that can be read in another line, it does not matter.
    sshd.place.write("known_hosts", name + damaged + "\n" + name + pub + "\n");
    options.client = spec::SshClient::libssh2;
    options.host_keys = spec::HostKeys::strict;
    CHECK(Client(options, sshd.endpoint(key))("true"));
  }
}

TEST_CASE("known hosts: a file that cannot be read is left to ssh") {
  if (!can_serve()) return;
  Sshd sshd;
  auto options = sshd.options();
  options.known_hosts = sshd.place.path / "folder";
  std::filesystem::create_directory(options.known_hosts);
  const auto exit = Client(options, sshd.endpoint(sshd.user_key("ed", "ed25519")))("true");
  REQUIRE_FALSE(exit);
  CHECK(exit.error().what.find("folder") != std::string::npos);
  CHECK(exit.error().hint.find("--ssh-client openssh") != std::string::npos);
}
