#include "gpuadm/base/certificate.hpp"

#include "gpuadm/base/openssl.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>
#include <ctime>
#include <optional>

namespace base {

namespace {

using openssl::Bio;
using openssl::Certificate;
using openssl::Key;
using openssl::Request;
using openssl::text_in;

std::unexpected<Error> openssl_failed(const char* what) {
  return fail(Fault::bug, fmt::format("cannot {}: {}", what, openssl::take_error()));
}

bool add_name(X509_NAME* subject, int id, const std::string& value) {
  return X509_NAME_add_entry_by_NID(subject, id, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

std::optional<Time> time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (!time || ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

}  // namespace

namespace openssl {

Certificate certificate_in(std::string_view pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Certificate certificate(bio ? PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr) : nullptr);
  if (!certificate) ERR_clear_error();
  return certificate;
}

std::string text_in(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

std::string take_error() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

}  // namespace openssl

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
  // OpenSSL overwrites the memory of a secure BIO when it is freed.
  const Bio key_text(BIO_new(BIO_s_secmem()));
  if (!request_text || !key_text || PEM_write_bio_X509_REQ(request_text.get(), request.get()) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return openssl_failed("write a certificate request");
  return CertificateRequest{Secret(text_in(key_text.get())), text_in(request_text.get())};
}

Result<CertificateSubject> read_certificate(std::string_view pem) {
  const Certificate certificate = openssl::certificate_in(pem);
  if (!certificate) return fail(Fault::parse, "not a certificate in PEM");
  const auto ends = time_of(X509_get0_notAfter(certificate.get()));
  if (!ends) return fail(Fault::parse, "a certificate without a valid end");
  std::array<char, 256> name{};
  const int length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName,
                                               name.data(), static_cast<int>(name.size()));
  return CertificateSubject{
      length > 0 ? std::string(name.data(), static_cast<std::size_t>(length)) : std::string(), *ends};
}

bool is_certificate_of(std::string_view pem, const Secret& key) {
  const Certificate certificate = openssl::certificate_in(pem);
  const Bio bio(BIO_new_mem_buf(key.reveal().data(), static_cast<int>(key.reveal().size())));
  const Key own(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr) : nullptr);
  const bool same = certificate && own && X509_check_private_key(certificate.get(), own.get()) == 1;
  ERR_clear_error();
  return same;
}

}  // namespace base
