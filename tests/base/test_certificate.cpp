#include "gpuadm/base/certificate.hpp"

#include <doctest/doctest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

namespace {

/// What a signer makes of a request: a certificate that is valid for a day.
std::string signed_by_itself(const base::CertificateRequest& made) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> request_text(
      BIO_new_mem_buf(made.request.data(), static_cast<int>(made.request.size())), BIO_free),
      key_text(BIO_new_mem_buf(made.key.reveal().data(), static_cast<int>(made.key.reveal().size())),
               BIO_free),
      out(BIO_new(BIO_s_mem()), BIO_free);
  const std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)> request(
      PEM_read_bio_X509_REQ(request_text.get(), nullptr, nullptr, nullptr), X509_REQ_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  REQUIRE(request);
  REQUIRE(key);
  CHECK(X509_REQ_verify(request.get(), key.get()) == 1);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86400);
  X509_set_subject_name(certificate.get(), X509_REQ_get_subject_name(request.get()));
  X509_set_pubkey(certificate.get(), key.get());
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  PEM_write_bio_X509(out.get(), certificate.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

TEST_CASE("a certificate request has the name, and is signed with its new key") {
  const auto made = base::new_certificate_request("gpuadm:anna:3f2a9c41d0", "gpuadm:users");
  REQUIRE(made);
  CHECK(made->request.starts_with("-----BEGIN CERTIFICATE REQUEST-----"));
  CHECK(made->request.find("PRIVATE KEY") == std::string::npos);
  CHECK(made->key.reveal().starts_with("-----BEGIN PRIVATE KEY-----"));
  const std::string pem = signed_by_itself(*made);
  const auto read = base::read_certificate(pem);
  REQUIRE(read);
  CHECK(read->common_name == "gpuadm:anna:3f2a9c41d0");
  const auto left = read->ends - base::now();
  CHECK(left > std::chrono::hours(23));
  CHECK(left <= std::chrono::hours(24));
  CHECK(base::is_certificate_of(pem, made->key));
  const auto other = base::new_certificate_request("gpuadm:anna:3f2a9c41d0", "gpuadm:users");
  REQUIRE(other);
  CHECK(other->key.reveal() != made->key.reveal());
  CHECK_FALSE(base::is_certificate_of(pem, other->key));
}

TEST_CASE("a name that is too long, and a text that is not a certificate, are errors") {
  CHECK_FALSE(base::new_certificate_request(std::string(65, 'a'), "gpuadm:users"));
  CHECK_FALSE(base::read_certificate(""));
  CHECK_FALSE(base::read_certificate("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"));
  CHECK_FALSE(base::is_certificate_of("", base::Secret("")));
}
