#include "gpuadm/base/files.hpp"

#include "place.hpp"
#include "transport/ssh/keys/bcrypt.hpp"
#include "transport/ssh/keys/bytes.hpp"
#include "transport/ssh/keys/key_file.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

using namespace testing_transport;

TEST_CASE("key files: bcrypt_pbkdf gives OpenBSD's answer") {
  std::string hex;
  for (unsigned char c : transport::bcrypt_pbkdf("password", "salt", 4, 32)) hex += fmt::format("{:02x}", c);
  CHECK(hex == "5bbf0cc293587f1c3635555c27796598d47e579071bf427e9d8fbe842aba34d9");
}

TEST_CASE(
    "key files: a file cut short or changed anywhere is an error or a wrong passphrase, never a crash") {
  if (!std::filesystem::exists("/usr/bin/ssh-keygen")) {
    MESSAGE("left out: needs openssh-client");
    return;
  }
  Place place;
  for (const std::string kind : {"ed25519", "ecdsa", "rsa -b 2048"}) {
    const std::string path = (place.path / "key").string();
    std::filesystem::remove(path);
    REQUIRE(std::system(("ssh-keygen -q -N '' -t " + kind + " -f " + path).c_str()) == 0);
    const std::string good = base::read_file(path).value();
    const auto attempt = [&](const std::string& text) {
      place.write("broken", text);
      ::chmod((place.path / "broken").c_str(), 0600);
      auto file = transport::read_key_file(place.path / "broken");
      if (!file) return false;
      auto key = transport::open_key(*file, base::Secret{});
      return key && *key && transport::sign(key->value().get(), "data").has_value();
    };
    CHECK(attempt(good));
    for (std::size_t size = 0; size + 40 < good.size(); size += 37)
      CHECK_FALSE(attempt(good.substr(0, size)));
    for (std::size_t at = 40; at < good.size(); at += 7) {
      std::string changed = good;
      changed[at] = changed[at] == 'A' ? 'B' : 'A';
      attempt(changed);
    }
  }
}

TEST_CASE("key files: a key that wants hours to open is refused") {
  if (!std::filesystem::exists("/usr/bin/ssh-keygen")) {
    MESSAGE("left out: needs openssh-client");
    return;
  }
  std::string options, inner("openssh-key-v1\0", 15);
  transport::put_string(options, "0123456789abcdef");
  transport::put_u32(options, 4'000'000'000U);
  transport::put_string(inner, "aes256-ctr");
  transport::put_string(inner, "bcrypt");
  transport::put_string(inner, options);
  transport::put_u32(inner, 1);
  transport::put_string(inner, "blob");
  transport::put_string(inner, std::string(64, 'x'));
  Place place;
  place.write("key", "-----BEGIN OPENSSH PRIVATE KEY-----\n" + base::base64(inner) +
                         "\n-----END OPENSSH PRIVATE KEY-----\n");
  ::chmod((place.path / "key").c_str(), 0600);
  auto file = transport::read_key_file(place.path / "key");
  REQUIRE(file);
  const auto key = transport::open_key(*file, base::Secret("x"));
  REQUIRE_FALSE(key);
  CHECK(key.error().what.find("not supported") != std::string::npos);
}

TEST_CASE("key files: SSH's wire types end quietly where bytes do") {
  transport::Reader reader(std::string_view("\0\0\0\x05hello\0\0", 11));
  CHECK(reader.string() == "hello");
  CHECK(reader.u32() == 0);
  CHECK_FALSE(reader.good());
  CHECK(transport::unbase64("aGVsbG8=") == "hello");
  CHECK(transport::unbase64("!!") == "");
}
