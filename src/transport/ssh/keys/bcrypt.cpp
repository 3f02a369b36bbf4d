#include "transport/ssh/keys/bcrypt.hpp"

#include <openssl/bn.h>
#include <openssl/sha.h>

#include <array>
#include <memory>
#include <vector>

namespace transport {

namespace {
using Digest = std::array<unsigned char, SHA512_DIGEST_LENGTH>;
using Number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;

/// Blowfish with the schedule of bcrypt. Its tables begin as the first 33,344 binary digits of pi's fraction.
struct Blowfish {
  std::array<std::uint32_t, 18> p;
  std::array<std::uint32_t, 1024> s;
};

// arctan(1 / n) scaled by 2^bits
Number arctan(BN_ULONG n, int bits) {
  Number sum(BN_new(), BN_free), power(BN_new(), BN_free), term(BN_new(), BN_free);
  BN_set_bit(power.get(), bits);
  BN_div_word(power.get(), n);
  BN_copy(sum.get(), power.get());
  for (BN_ULONG k = 3; !BN_is_zero(power.get()); k += 2) {
    BN_div_word(power.get(), n * n);
    BN_copy(term.get(), power.get());
    BN_div_word(term.get(), k);
    k % 4 == 3 ? BN_sub(sum.get(), sum.get(), term.get()) : BN_add(sum.get(), sum.get(), term.get());
  }
  return sum;
}

Blowfish digits_of_pi() {
  constexpr int words = 18 + 1024, guard = 64, bits = words * 32 + guard;
  Number a = arctan(5, bits);  // Machin: pi = 16 arctan(1/5) - 4 arctan(1/239)
  Number b = arctan(239, bits);
  BN_mul_word(a.get(), 16);
  BN_mul_word(b.get(), 4);
  BN_sub(a.get(), a.get(), b.get());
  BN_rshift(a.get(), a.get(), guard);
  BN_mask_bits(a.get(), words * 32);
  std::vector<unsigned char> bytes(words * 4);
  BN_bn2binpad(a.get(), bytes.data(), static_cast<int>(bytes.size()));
  Blowfish start{};
  for (std::size_t i = 0; i < words; ++i) {
    std::uint32_t word = 0;
    for (std::size_t j = 0; j < 4; ++j) word = word << 8 | bytes[i * 4 + j];
    (i < 18 ? start.p[i] : start.s[i - 18]) = word;
  }
  return start;
}

void encipher(const Blowfish& box, std::uint32_t& left, std::uint32_t& right) {
  std::uint32_t l = left ^ box.p[0], r = right;
  const auto f = [&](std::uint32_t x) {
    return ((box.s[x >> 24] + box.s[256 + (x >> 16 & 0xff)]) ^ box.s[512 + (x >> 8 & 0xff)]) +
           box.s[768 + (x & 0xff)];
  };
  for (std::size_t i = 1; i <= 16; i += 2) {
    r ^= f(l) ^ box.p[i];
    l ^= f(r) ^ box.p[i + 1];
  }
  left = r ^ box.p[17];
  right = l;
}

class Words {
 public:
  explicit Words(const Digest& bytes) : bytes_(bytes) {}
  std::uint32_t next() {
    std::uint32_t word = 0;
    for (int i = 0; i < 4; ++i, at_ = (at_ + 1) % bytes_.size()) word = word << 8 | bytes_[at_];
    return word;
  }

 private:
  const Digest& bytes_;
  std::size_t at_ = 0;
};

void expand(Blowfish& box, const Digest& key, const Digest* salt) {
  Words key_words(key);
  for (auto& p : box.p) p ^= key_words.next();
  static constexpr Digest nothing{};
  Words salt_words(salt ? *salt : nothing);
  std::uint32_t l = 0, r = 0;
  const auto fill = [&](std::uint32_t& first, std::uint32_t& second) {
    l ^= salt_words.next();
    r ^= salt_words.next();
    encipher(box, l, r);
    first = l;
    second = r;
  };
  for (std::size_t i = 0; i < box.p.size(); i += 2) fill(box.p[i], box.p[i + 1]);
  for (std::size_t i = 0; i < box.s.size(); i += 2) fill(box.s[i], box.s[i + 1]);
}

std::array<unsigned char, 32> bcrypt_hash(const Blowfish& start, const Digest& pass, const Digest& salt) {
  Blowfish box = start;
  expand(box, pass, &salt);
  for (int i = 0; i < 64; ++i) {
    expand(box, salt, nullptr);
    expand(box, pass, nullptr);
  }
  constexpr std::string_view text = "OxychromaticBlowfishSwatDynamite";
  std::array<std::uint32_t, 8> words{};
  for (std::size_t i = 0; i < 32; ++i) words[i / 4] = words[i / 4] << 8 | static_cast<unsigned char>(text[i]);
  for (int i = 0; i < 64; ++i)
    for (std::size_t j = 0; j < 8; j += 2) encipher(box, words[j], words[j + 1]);
  std::array<unsigned char, 32> out{};
  for (std::size_t i = 0; i < 32; ++i) out[i] = static_cast<unsigned char>(words[i / 4] >> (8 * (i % 4)));
  return out;
}

Digest sha512(std::string_view bytes) {
  Digest digest;
  ::SHA512(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}
}  // namespace

std::string bcrypt_pbkdf(std::string_view passphrase, std::string_view salt, std::uint32_t rounds,
                         std::size_t length) {
  const Blowfish start = digits_of_pi();
  const Digest pass = sha512(passphrase);
  const std::size_t blocks = (length + 31) / 32;
  std::string key(length, '\0');
  for (std::uint32_t block = 1; block <= blocks; ++block) {
    std::string counted(salt);
    for (int shift = 24; shift >= 0; shift -= 8) counted += static_cast<char>(block >> shift & 0xff);
    auto last = bcrypt_hash(start, pass, sha512(counted));
    auto sum = last;
    for (std::uint32_t round = 1; round < rounds; ++round) {
      last = bcrypt_hash(start, pass, sha512({reinterpret_cast<const char*>(last.data()), last.size()}));
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] ^= last[i];
    }
    // Blocks are interleaved: byte i of block b is byte i * blocks + b - 1 of the key.
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (const std::size_t at = i * blocks + block - 1; at < length) key[at] = static_cast<char>(sum[i]);
  }
  return key;
}

}  // namespace transport
