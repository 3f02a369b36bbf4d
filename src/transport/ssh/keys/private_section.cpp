#include "transport/ssh/keys/private_section.hpp"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>

namespace transport {

namespace {
struct FreeNumber {
  void operator()(BIGNUM* number) const { BN_clear_free(number); }
};
using BigNumber = std::unique_ptr<BIGNUM, FreeNumber>;
using Build = std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)>;

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

BigNumber number(std::string_view bytes) {
  BigNumber value(BN_secure_new());
  BN_bin2bn(raw(bytes), static_cast<int>(bytes.size()), value.get());
  return value;
}

PrivateKey from_parameters(const char* type, OSSL_PARAM_BLD* build) {
  std::unique_ptr<OSSL_PARAM, decltype(&OSSL_PARAM_free)> parameters(OSSL_PARAM_BLD_to_param(build),
                                                                     OSSL_PARAM_free);
  std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr), EVP_PKEY_CTX_free);
  EVP_PKEY* key = nullptr;
  if (!parameters || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_KEYPAIR, parameters.get()) != 1)
    ERR_clear_error();
  return PrivateKey(key);
}

PrivateKey ed25519(Reader& reader) {
  reader.string();
  const std::string_view seed_and_public = reader.string();
  if (seed_and_public.size() != 64) return nullptr;
  return PrivateKey(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw(seed_and_public), 32));
}

PrivateKey ecdsa(Reader& reader) {
  const std::string_view curve = reader.string();
  const std::string_view point = reader.string();
  const BigNumber d = number(reader.string());
  const char* group = curve == "nistp256"   ? "prime256v1"
                      : curve == "nistp384" ? "secp384r1"
                      : curve == "nistp521" ? "secp521r1"
                                            : nullptr;
  if (!group || !reader.good()) return nullptr;
  const Build build(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  OSSL_PARAM_BLD_push_utf8_string(build.get(), OSSL_PKEY_PARAM_GROUP_NAME, group, 0);
  OSSL_PARAM_BLD_push_octet_string(build.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_PRIV_KEY, d.get());
  return from_parameters("EC", build.get());
}

PrivateKey rsa(Reader& reader) {
  const BigNumber n = number(reader.string()), e = number(reader.string()), d = number(reader.string());
  const BigNumber coefficient = number(reader.string()), p = number(reader.string()),
                  q = number(reader.string());
  if (!reader.good() || BN_is_zero(p.get()) || BN_is_zero(q.get())) return nullptr;
  const std::unique_ptr<BN_CTX, decltype(&BN_CTX_free)> scratch(BN_CTX_secure_new(), BN_CTX_free);
  const auto exponent = [&](const BigNumber& prime) {
    const BigNumber less(BN_dup(prime.get()));
    BN_sub_word(less.get(), 1);
    BigNumber result(BN_secure_new());
    BN_mod(result.get(), d.get(), less.get(), scratch.get());
    return result;
  };
  const BigNumber dp = exponent(p), dq = exponent(q);
  const Build build(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_D, d.get());
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_FACTOR1, p.get());
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_FACTOR2, q.get());
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_EXPONENT1, dp.get());
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_EXPONENT2, dq.get());
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_COEFFICIENT1, coefficient.get());
  return from_parameters("RSA", build.get());
}
}  // namespace

PrivateKey read_private_section(Reader& reader) {
  const std::string_view type = reader.string();
  if (type == "ssh-ed25519") return ed25519(reader);
  if (type.starts_with("ecdsa-sha2-nistp")) return ecdsa(reader);
  if (type == "ssh-rsa") return rsa(reader);
  return nullptr;
}

void put_mpint(std::string& into, const BIGNUM* value) {
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(value)), '\0');
  BN_bn2bin(value, reinterpret_cast<unsigned char*>(bytes.data()));
  if (!bytes.empty() && (bytes[0] & 0x80) != 0) bytes.insert(bytes.begin(), '\0');
  put_string(into, bytes);
}

}  // namespace transport
