#include "gpuadm/base/text.hpp"

#include "transport/ssh/keys/bytes.hpp"
#include "transport/ssh/keys/key_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>
//
#include "own_home.hpp"

using namespace testing_transport;

namespace {

bool has_keygen() {
  const bool there = std::filesystem::exists("/usr/bin/ssh-keygen");
  if (!there) MESSAGE("left out: needs openssh-client");
  return there;
}

/// The public key that gpuadm reads from a private key's file. Empty: none.
std::string opened(const std::string& path, const std::string& passphrase) {
  auto file = transport::read_key_file(path);
  if (!file) return {};
  auto key = transport::open_key(*file, base::Secret(passphrase));
  if (!key || !*key) return {};
  const std::string blob = transport::public_blob(key->value().get());
  if (!transport::sign(key->value().get(), "data")) return {};
  return std::string(transport::Reader(blob).string()) + " " + base::base64(blob);
}

std::string opened_by_ssh(const std::string& path, const std::string& passphrase) {
  const Answer answer = answer_of({"ssh-keygen", "-y", "-P", passphrase, "-f", path});
  if (answer.status != 0) return {};
  const auto words = base::words(answer.text);
  std::string blob(words.at(1));
  while (blob.ends_with('\n')) blob.pop_back();
  return std::string(words.at(0)) + " " + blob;
}

constexpr const char* ciphers[] = {"3des-cbc",
                                   "aes128-cbc",
                                   "aes192-cbc",
                                   "aes256-cbc",
                                   "aes128-ctr",
                                   "aes192-ctr",
                                   "aes256-ctr",
                                   "aes128-gcm@openssh.com",
                                   "aes256-gcm@openssh.com",
                                   "chacha20-poly1305@openssh.com"};

}  // namespace

TEST_CASE(
    "like ssh: keys of every type, format and cipher of ssh-keygen open, and only with their passphrase") {
  if (!has_keygen()) return;
  const Place place;
  const std::string plain = (place.path / "plain").string(), copy = (place.path / "copy").string();
  int keys = 0;
  for (const std::string type : {"ed25519", "ecdsa -b 256", "ecdsa -b 384", "ecdsa -b 521", "rsa -b 1024"}) {
    REQUIRE(shell("rm -f " + plain + "; ssh-keygen -q -N '' -t " + type + " -f " + plain) == 0);
    const std::string wanted = opened_by_ssh(plain, "");
    std::vector<std::string> forms;
    for (const char* cipher : ciphers) forms.push_back(std::string("-a 1 -N 'open sesame' -Z ") + cipher);
    if (type != "ed25519")
      for (const char* form :
           {"-m PEM -N ''", "-m PKCS8 -N ''", "-m PEM -N 'open sesame'", "-m PKCS8 -N 'open sesame'"})
        forms.emplace_back(form);
    for (const std::string& form : forms) {
      CAPTURE(type);
      CAPTURE(form);
      REQUIRE(shell("cp " + plain + " " + copy + " && ssh-keygen -q -p -P '' " + form + " -f " + copy) == 0);
      const std::string passphrase = form.ends_with("''") ? "" : "open sesame";
      CHECK(opened_by_ssh(copy, passphrase) == wanted);
      CHECK(opened(copy, passphrase) == wanted);
      if (!passphrase.empty()) CHECK(opened(copy, "open barley").empty());
      ++keys;
    }
  }
  CHECK(keys == 66);
}

TEST_CASE("like ssh: damaged encrypted keys do not open") {
  if (!has_keygen()) return;
  const Place place;
  const std::string path = (place.path / "key").string();
  for (const char* cipher : {"aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com"}) {
    REQUIRE(shell(fmt::format("rm -f {0}; ssh-keygen -q -a 1 -t ed25519 -N secret -Z {1} -f {0}", path,
                              cipher)) == 0);
    std::string text = base::read_file(path).value();
    const std::size_t middle = text.size() * 3 / 4;
    text[middle] = text[middle] == 'A' ? 'B' : 'A';
    std::ofstream(path) << text;
    CHECK(opened_by_ssh(path, "secret").empty());
    CHECK(opened(path, "secret").empty());
  }
}

TEST_CASE("key files: keys that SSH does not have are named as what they are") {
  if (!std::filesystem::exists("/usr/bin/openssl")) {
    MESSAGE("left out: needs openssl");
    return;
  }
  const Place place;
  const std::string path = (place.path / "key").string();
  for (const auto& [command, name] :
       {std::pair{"genpkey -algorithm ED448", "ED448"},
        {"genpkey -algorithm EC -pkeyopt ec_paramgen_curve:secp256k1", "secp256k1"},
        {"genpkey -algorithm EC -pkeyopt ec_paramgen_curve:brainpoolP256r1", "brainpoolP256r1"},
        {"genpkey -algorithm X25519", "X25519"}}) {
    REQUIRE(shell(fmt::format("rm -f {1}; openssl {0} -out {1} && chmod 600 {1}", command, path)) == 0);
    const auto file = transport::read_key_file(path);
    REQUIRE_FALSE(file);
    CHECK(file.error().what.find(std::string("unsupported key type ") + name) != std::string::npos);
    // The same with a passphrase.
    REQUIRE(shell(fmt::format(
                "openssl pkey -in {0} -aes256 -passout pass:secret -out {0}.enc && chmod 600 {0}.enc",
                path)) == 0);
    const auto sealed = transport::read_key_file(path + ".enc");
    REQUIRE(sealed);
    const auto key = transport::open_key(*sealed, base::Secret("secret"));
    REQUIRE_FALSE(key);
    CHECK(key.error().what.find(std::string("unsupported key type ") + name) != std::string::npos);
  }
}

TEST_CASE("ssh: an encrypted key logs in with each cipher, after one question") {
  if (!can_serve()) return;
  Sshd sshd;
  for (const char* cipher : {"3des-cbc", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com"}) {
    CAPTURE(cipher);
    transport::Operator person;
    person.ask_secret = [](const std::string&) { return base::Secret("open sesame"); };
    const std::string key =
        sshd.user_key("key", "ed25519", std::string("-a 1 -N 'open sesame' -Z ") + cipher);
    const auto exit = Client(sshd.options(), sshd.endpoint(key), person)("echo in");
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == "in\n");
  }
}

TEST_CASE("ssh: an IdentityFile with only the public key is found in the agent") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string socket = (sshd.place.path / "agent").string();
  auto agent =
      transport::Child::spawn({"ssh-agent", "-D", "-a", socket}, transport::Child::Wiring::pipes).value();
  for (int i = 0; i < 100 && !std::filesystem::exists(socket); ++i) std::this_thread::sleep_for(10ms);
  const std::string key = sshd.user_key("key", "ed25519");
  REQUIRE(shell("SSH_AUTH_SOCK=" + socket + " ssh-add " + key + " && rm " + key) == 0);
  for (const char* ending : {"", ".pub"}) {
    auto options = sshd.options();
    options.ssh_config = sshd.place.write(
        "config", "IdentitiesOnly yes\nIdentityFile " + key + ending + "\nIdentityAgent " + socket + "\n");
    const auto exit = Client(options, sshd.endpoint(""))("echo in");
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == "in\n");
  }
}

TEST_CASE("ssh: keys that are too short are not offered") {
  if (!can_serve() || !std::filesystem::exists("/usr/bin/openssl")) return;
  Sshd sshd;
  const std::string key = (sshd.place.path / "short").string();
  REQUIRE(shell("openssl genrsa -traditional -out " + key + " 1020 && chmod 600 " + key) == 0);
  for (const std::string config : {"", "RequiredRSASize 3072\n"}) {
    if (!config.empty()) sshd.user_key("short", "rsa", "-b 2048 -N ''");
    auto options = sshd.options();
    options.ssh_config =
        sshd.place.write("config", config + "IdentityFile " + key + "\nIdentityAgent none\n");
    const auto exit = Client(options, sshd.endpoint(""))("true");
    REQUIRE_FALSE(exit);
    CHECK(exit.error().what.find("no key to offer") != std::string::npos);
  }
}
