#include "gpuadm/base/certificate.hpp"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <memory>
#include <optional>

namespace base {

namespace {

constexpr long day_seconds = 24L * 60 * 60, server_lifetime = 3650 * day_seconds;

template <auto Free>
struct FreeOpenssl {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, FreeOpenssl<BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, FreeOpenssl<EVP_PKEY_free>>;
using Request = std::unique_ptr<X509_REQ, FreeOpenssl<X509_REQ_free>>;
using Certificate = std::unique_ptr<X509, FreeOpenssl<X509_free>>;

std::string last_openssl_error() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

std::unexpected<Error> openssl_failed(const char* what) {
  return fail(Fault::bug, fmt::format("cannot {}: {}", what, last_openssl_error()));
}

std::string text_in(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

bool add_name(X509_NAME* subject, int id, const std::string& value) {
  return X509_NAME_add_entry_by_NID(subject, id, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

Certificate certificate_in(std::string_view pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Certificate certificate(bio ? PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr) : nullptr);
  if (!certificate) ERR_clear_error();
  return certificate;
}

std::optional<Time> time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (!time || ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

/// `memory`: a secure BIO, whose memory OpenSSL overwrites when it is freed.
bool write_key(EVP_PKEY* key, BIO* memory) {
  return PEM_write_bio_PKCS8PrivateKey(memory, key, nullptr, nullptr, 0, nullptr, nullptr) == 1;
}

bool add_extension(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  const bool good = extension && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return good;
}

bool fill(X509* certificate, EVP_PKEY* key, const std::string& common_name, const std::string& address,
          const std::string& name) {
  std::int64_t serial = 0;
  constexpr std::int64_t positive = INT64_MAX;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return false;
  X509_NAME* subject = X509_get_subject_name(certificate);
  return X509_set_version(certificate, 2) == 1 &&
         ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate), serial & positive) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), -day_seconds) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), server_lifetime) != nullptr &&
         X509_set_pubkey(certificate, key) == 1 && add_name(subject, NID_commonName, common_name) &&
         X509_set_issuer_name(certificate, subject) == 1 &&
         add_extension(certificate, NID_subject_alt_name, fmt::format("IP:{},DNS:{}", address, name)) &&
         add_extension(certificate, NID_basic_constraints, "critical,CA:FALSE") &&
         add_extension(certificate, NID_key_usage, "critical,digitalSignature") &&
         add_extension(certificate, NID_ext_key_usage, "serverAuth") &&
         X509_sign(certificate, key, EVP_sha256()) > 0;
}

}  // namespace

Result<CertificateRequest> new_certificate_request(const std::string& common_name,
                                                   const std::string& organization) {
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return openssl_failed("generate a private key");
  const Request request(X509_REQ_new());
  X509_NAME* subject = request ? X509_REQ_get_subject_name(request.get()) : nullptr;
  const bool made = subject && X509_REQ_set_version(request.get(), 0) == 1 &&
                    add_name(subject, NID_organizationName, organization) &&
                    add_name(subject, NID_commonName, common_name) &&
                    X509_REQ_set_pubkey(request.get(), key.get()) == 1 &&
                    X509_REQ_sign(request.get(), key.get(), EVP_sha256()) > 0;
  if (!made) return openssl_failed("make a certificate request");
  const Bio request_text(BIO_new(BIO_s_mem()));
  const Bio key_text(BIO_new(BIO_s_secmem()));
  if (!request_text || !key_text || PEM_write_bio_X509_REQ(request_text.get(), request.get()) != 1 ||
      !write_key(key.get(), key_text.get()))
    return openssl_failed("write a certificate request");
  return CertificateRequest{Secret(text_in(key_text.get())), text_in(request_text.get())};
}

Result<CertificateSubject> read_certificate(std::string_view pem) {
  const Certificate certificate = certificate_in(pem);
  if (!certificate) return fail(Fault::parse, "not a certificate in PEM");
  const auto ends = time_of(X509_get0_notAfter(certificate.get()));
  if (!ends) return fail(Fault::parse, "a certificate without a valid end");
  std::array<char, 256> name{};
  const int length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName,
                                               name.data(), static_cast<int>(name.size()));
  return CertificateSubject{
      length > 0 ? std::string(name.data(), static_cast<std::size_t>(length)) : std::string(), *ends};
}

Result<ServerCertificate> new_server_certificate(const std::string& common_name, const std::string& address,
                                                 const std::string& name) {
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return openssl_failed("generate a private key");
  const Certificate certificate(X509_new());
  if (!certificate || !fill(certificate.get(), key.get(), common_name, address, name))
    return openssl_failed("make a certificate");
  const Bio certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_secmem()));
  if (!certificate_text || !key_text || !write_key(key.get(), key_text.get()) ||
      PEM_write_bio_X509(certificate_text.get(), certificate.get()) != 1)
    return openssl_failed("write a certificate");
  return ServerCertificate{Secret(text_in(key_text.get())), text_in(certificate_text.get())};
}

bool is_server_certificate(std::string_view pem, const std::string& address, const std::string& name,
                           std::chrono::seconds least_left) {
  const Certificate certificate = certificate_in(pem);
  if (!certificate) return false;
  time_t limit = std::time(nullptr) + least_left.count();
  return X509_check_ip_asc(certificate.get(), address.c_str(), 0) == 1 &&
         X509_check_host(certificate.get(), name.data(), name.size(), 0, nullptr) == 1 &&
         X509_cmp_time(X509_get0_notAfter(certificate.get()), &limit) > 0 &&
         X509_cmp_current_time(X509_get0_notBefore(certificate.get())) < 0;
}

bool is_certificate_of(std::string_view pem, const Secret& key) {
  const Certificate certificate = certificate_in(pem);
  const Bio bio(BIO_new_mem_buf(key.reveal().data(), static_cast<int>(key.reveal().size())));
  const Key own(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr) : nullptr);
  const bool same = certificate && own && X509_check_private_key(certificate.get(), own.get()) == 1;
  ERR_clear_error();
  return same;
}

}  // namespace base
