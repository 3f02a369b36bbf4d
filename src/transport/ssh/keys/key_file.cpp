#include "transport/ssh/keys/key_file.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "transport/ssh/keys/bcrypt.hpp"
#include "transport/ssh/keys/bytes.hpp"
#include "transport/ssh/keys/private_section.hpp"
#include "transport/ssh/keys/section_cipher.hpp"

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <sys/stat.h>

namespace transport {

namespace {
using base::Fault;
constexpr std::string_view opening = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view closing = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view magic{"openssh-key-v1\0", 15};
constexpr std::uint32_t most_rounds = 4096;  // a hostile file must not cost hours

struct Envelope {
  std::string_view cipher, kdf, kdf_options, blob, section, tag;
};

std::optional<Envelope> read_envelope(std::string_view bytes) {
  if (!bytes.starts_with(magic)) return std::nullopt;
  Reader reader(bytes.substr(magic.size()));
  Envelope envelope;
  envelope.cipher = reader.string();
  envelope.kdf = reader.string();
  envelope.kdf_options = reader.string();
  if (reader.u32() != 1) return std::nullopt;
  envelope.blob = reader.string();
  envelope.section = reader.string();
  envelope.tag = reader.rest();
  return reader.good() ? std::optional(envelope) : std::nullopt;
}

std::string openssh_bytes(std::string_view text) {
  const std::size_t from = text.find(opening);
  const std::size_t to = text.find(closing);
  if (from == std::string_view::npos || to == std::string_view::npos || to < from) return {};
  std::string packed;
  for (char c : text.substr(from + opening.size(), to - from - opening.size()))
    if (c != '\n' && c != '\r' && c != ' ') packed += c;
  return unbase64(packed);
}

/// The decrypted section. Nothing: the passphrase is wrong.
base::Result<std::optional<std::string>> decrypt(const Envelope& envelope, const base::Secret& passphrase,
                                                 const std::string& path) {
  if (envelope.cipher == "none") return std::string(envelope.section);
  const auto cipher = SectionCipher::named(envelope.cipher);
  Reader options(envelope.kdf_options);
  const std::string_view salt = options.string();
  const std::uint32_t rounds = options.u32();
  if (!cipher || envelope.kdf != "bcrypt" || !options.good() || rounds == 0 || rounds > most_rounds)
    return base::fail(Fault::spec,
                      fmt::format("{}: encrypted with {} and {}, which is not supported", path,
                                  base::printable(envelope.cipher, 40), base::printable(envelope.kdf, 40)),
                      "load it into ssh-agent: ssh-add " + path);
  const base::Secret key(bcrypt_pbkdf(passphrase.reveal(), salt, rounds, cipher->key_size()));
  return cipher->decrypt(key.reveal(), envelope.section, envelope.tag);
}

int give_passphrase(char* buffer, int size, int, void* secret) {
  const auto& text = static_cast<const base::Secret*>(secret)->reveal();
  if (text.empty() || text.size() > static_cast<std::size_t>(size)) return -1;
  std::copy(text.begin(), text.end(), buffer);
  return static_cast<int>(text.size());
}

PrivateKey open_pem(const std::string& text, const base::Secret& passphrase) {
  std::unique_ptr<BIO, decltype(&BIO_free)> memory(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  PrivateKey key(PEM_read_bio_PrivateKey(memory.get(), nullptr, give_passphrase,
                                         const_cast<base::Secret*>(&passphrase)));
  ERR_clear_error();
  return key;
}

/// What OpenSSL calls the kind of a key: "ED448", "secp256k1".
std::string kind_of(EVP_PKEY* key) {
  char group[64] = "";
  if (EVP_PKEY_is_a(key, "EC")) EVP_PKEY_get_group_name(key, group, sizeof group, nullptr);
  const char* type = EVP_PKEY_get0_type_name(key);
  return *group ? group : type ? type : "unknown";
}

base::Result<std::string> supported_blob(EVP_PKEY* key, const std::filesystem::path& path) {
  std::string blob = public_blob(key);
  if (!blob.empty()) return blob;
  return base::fail(Fault::spec, fmt::format("{}: unsupported key type {}", path.string(),
                                             base::printable(kind_of(key), 60)));
}

void take_public(KeyFile& file, std::string blob) {
  file.type = Reader(blob).string();
  file.blob = std::move(blob);
}
}  // namespace

base::Result<KeyFile> read_key_file(const std::filesystem::path& path) {
  base::Secret whole(TRY(base::read_file(path, 64u << 10)));
  KeyFile file{path, "", "", false, std::move(whole)};
  const std::string& text = file.text.reveal();
  struct stat about{};
  if (::stat(path.c_str(), &about) == 0 && about.st_uid == ::geteuid() && (about.st_mode & 077) != 0)
    return base::fail(
        Fault::spec,
        fmt::format("{}: other users can read this private key, so it is not used", path.string()),
        "chmod 600 " + path.string());
  const std::string bytes = openssh_bytes(text);
  if (const auto envelope = read_envelope(bytes)) {
    file.encrypted = envelope->cipher != "none";
    take_public(file, std::string(envelope->blob));
    return file;
  }
  if (text.find("PRIVATE KEY-----") == std::string::npos)
    return base::fail(Fault::spec, fmt::format("{}: not a private key", path.string()));
  file.encrypted = text.find("ENCRYPTED") != std::string::npos;
  if (!file.encrypted) {
    const PrivateKey key = open_pem(text, base::Secret{});
    if (!key) return base::fail(Fault::spec, fmt::format("{}: invalid private key", path.string()));
    std::string blob = TRY(supported_blob(key.get(), path));
    take_public(file, std::move(blob));
  } else if (const auto beside = base::read_file(path.string() + ".pub", 64u << 10)) {
    const auto words = base::words(base::trim(*beside));
    if (words.size() > 1) take_public(file, unbase64(words[1]));
  }
  return file;
}

base::Result<std::optional<PrivateKey>> open_key(const KeyFile& file, const base::Secret& passphrase) {
  const base::Secret bytes(openssh_bytes(file.text.reveal()));
  const auto envelope = read_envelope(bytes.reveal());
  if (!envelope) {
    PrivateKey key = open_pem(file.text.reveal(), passphrase);
    if (!key) return std::nullopt;
    TRY(supported_blob(key.get(), file.path));
    return key;
  }
  auto decrypted = TRY(decrypt(*envelope, passphrase, file.path.string()));
  if (!decrypted) return std::nullopt;
  const base::Secret section(std::move(*decrypted));
  Reader reader(section.reveal());
  if (reader.u32() != reader.u32() || !reader.good()) return std::nullopt;
  PrivateKey key = read_private_section(reader);
  if (!key)
    return base::fail(Fault::spec, fmt::format("{}: unsupported key type {}", file.path.string(),
                                               base::printable(file.type, 60)));
  return key;
}

std::string public_blob(EVP_PKEY* key) {
  std::string blob;
  if (EVP_PKEY_is_a(key, "ED25519")) {
    unsigned char raw[32];
    std::size_t size = sizeof raw;
    EVP_PKEY_get_raw_public_key(key, raw, &size);
    put_string(blob, "ssh-ed25519");
    put_string(blob, {reinterpret_cast<char*>(raw), size});
  } else if (EVP_PKEY_is_a(key, "EC")) {
    unsigned char point[256];
    std::size_t size = 0;
    EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point, &size);
    const std::string group = kind_of(key);
    const std::string curve = group == "prime256v1"  ? "nistp256"
                              : group == "secp384r1" ? "nistp384"
                              : group == "secp521r1" ? "nistp521"
                                                     : "";
    if (curve.empty()) return {};
    put_string(blob, "ecdsa-sha2-" + curve);
    put_string(blob, curve);
    put_string(blob, {reinterpret_cast<char*>(point), size});
  } else if (EVP_PKEY_is_a(key, "RSA")) {
    put_string(blob, "ssh-rsa");
    for (const char* part : {OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_N}) {
      BIGNUM* number = nullptr;
      EVP_PKEY_get_bn_param(key, part, &number);
      put_mpint(blob, number);
      BN_free(number);
    }
  }
  return blob;
}

base::Result<std::string> sign(EVP_PKEY* key, std::string_view data) {
  const bool is_ec = EVP_PKEY_is_a(key, "EC");
  const int bits = EVP_PKEY_get_bits(key);
  const EVP_MD* digest = nullptr;  // ed25519 has its own
  if (is_ec) digest = bits <= 256 ? EVP_sha256() : bits <= 384 ? EVP_sha384() : EVP_sha512();
  if (EVP_PKEY_is_a(key, "RSA")) digest = EVP_sha512();
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::string signature(static_cast<std::size_t>(EVP_PKEY_get_size(key)), '\0');
  std::size_t size = signature.size();
  if (EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     reinterpret_cast<const unsigned char*>(data.data()), data.size()) != 1) {
    ERR_clear_error();
    return base::fail(Fault::bug, "cannot sign with the private key");
  }
  signature.resize(size);
  if (!is_ec) return signature;
  const auto* der = reinterpret_cast<const unsigned char*>(signature.data());
  std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
      d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(size)), ECDSA_SIG_free);
  if (!pair) return base::fail(Fault::bug, "invalid signature");
  std::string packed;
  put_mpint(packed, ECDSA_SIG_get0_r(pair.get()));
  put_mpint(packed, ECDSA_SIG_get0_s(pair.get()));
  return packed;
}

}  // namespace transport
