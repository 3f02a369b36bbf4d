#include "http/tls.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/openssl.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/http/server.hpp"

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <dlfcn.h>

namespace http {

namespace {

using base::Fault;

using base::openssl::Bio;
using base::openssl::Certificate;
using base::openssl::Key;
using base::openssl::text_in;

constexpr long day = 24L * 60 * 60, lifetime = 3650 * day, least_left = 30 * day;

base::Error failure(const char* what) {
  return {Fault::bug, fmt::format("cannot make a certificate: {}: {}", what, base::openssl::take_error()),
          ""};
}

bool is_current(const Endpoint& endpoint, const std::string& name) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(endpoint.key, error))) return false;
  const Certificate certificate =
      base::openssl::certificate_in(base::read_file(endpoint.certificate, 64u << 10).value_or(""));
  if (!certificate) return false;
  time_t limit = ::time(nullptr) + least_left;
  return ::X509_check_ip_asc(certificate.get(), endpoint.address.c_str(), 0) == 1 &&
         ::X509_check_host(certificate.get(), name.data(), name.size(), 0, nullptr) == 1 &&
         ::X509_cmp_time(::X509_get0_notAfter(certificate.get()), &limit) > 0 &&
         ::X509_cmp_current_time(::X509_get0_notBefore(certificate.get())) < 0;
}

bool add_extension(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  ::X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = ::X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  const bool good = extension && ::X509_add_ext(certificate, extension, -1) == 1;
  ::X509_EXTENSION_free(extension);
  return good;
}

/// Valid from yesterday on: clocks of clients differ.
bool fill(X509* certificate, EVP_PKEY* key, const std::string& address, const std::string& name) {
  std::int64_t number = 0;
  constexpr std::int64_t positive = INT64_MAX;
  if (::RAND_bytes(reinterpret_cast<unsigned char*>(&number), sizeof number) != 1) return false;
  X509_NAME* subject = ::X509_get_subject_name(certificate);
  return ::X509_set_version(certificate, 2) == 1 &&
         ::ASN1_INTEGER_set_int64(::X509_get_serialNumber(certificate), number & positive) == 1 &&
         ::X509_gmtime_adj(::X509_getm_notBefore(certificate), -day) != nullptr &&
         ::X509_gmtime_adj(::X509_getm_notAfter(certificate), lifetime) != nullptr &&
         ::X509_set_pubkey(certificate, key) == 1 &&
         ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>("gpuadm-metrics"), -1, -1,
                                      0) == 1 &&
         ::X509_set_issuer_name(certificate, subject) == 1 &&
         add_extension(certificate, NID_subject_alt_name, fmt::format("IP:{},DNS:{}", address, name)) &&
         add_extension(certificate, NID_basic_constraints, "critical,CA:FALSE") &&
         add_extension(certificate, NID_key_usage, "critical,digitalSignature") &&
         add_extension(certificate, NID_ext_key_usage, "serverAuth") &&
         ::X509_sign(certificate, key, ::EVP_sha256()) > 0;
}

template <class Function>
bool found(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

const Tls& tls() {
  static const Tls loaded = [] {
    Tls all;
    void* library = nullptr;
    for (const char* name : {"libssl.so.3", "libssl.so.1.1"})
      if (!library) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    all.complete =
        library && found(library, "TLS_server_method", all.server_method) &&
        found(library, "SSL_CTX_new", all.new_context) && found(library, "SSL_CTX_free", all.free_context) &&
        found(library, "SSL_CTX_ctrl", all.control) &&
        found(library, "SSL_CTX_set_options", all.set_options) &&
        found(library, "SSL_CTX_use_certificate_chain_file", all.use_certificate) &&
        found(library, "SSL_CTX_use_PrivateKey_file", all.use_key) &&
        found(library, "SSL_CTX_check_private_key", all.check_key) &&
        found(library, "SSL_new", all.new_connection) && found(library, "SSL_free", all.free_connection) &&
        found(library, "SSL_set_fd", all.set_descriptor) &&
        found(library, "SSL_set_accept_state", all.set_accept_state) &&
        found(library, "SSL_do_handshake", all.handshake) && found(library, "SSL_read", all.read) &&
        found(library, "SSL_write", all.write) && found(library, "SSL_shutdown", all.shutdown) &&
        found(library, "SSL_get_error", all.error_of) &&
        found(library, "ERR_clear_error", all.clear_errors) &&
        found(library, "ERR_get_error", all.next_error) &&
        found(library, "ERR_error_string_n", all.error_text);
    return all;
  }();
  return loaded;
}

Result<> ensure_certificate(const Endpoint& endpoint, const std::string& name) {
  if (is_current(endpoint, name)) return {};
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(::X509_new());
  if (!key || !certificate || !fill(certificate.get(), key.get(), endpoint.address, name))
    return std::unexpected(failure("key"));
  const Bio secret(::BIO_new(::BIO_s_mem())), open(::BIO_new(::BIO_s_mem()));
  if (!secret || !open ||
      ::PEM_write_bio_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      ::PEM_write_bio_X509(open.get(), certificate.get()) != 1)
    return std::unexpected(failure("PEM"));
  // A run that ends between the two leaves a pair that does not fit, and OpenSSL refuses it: the certificate,
  // which decides whether the pair is kept, is written last.
  std::error_code error;
  std::filesystem::remove(endpoint.certificate, error);
  TRY(base::write_file(endpoint.key, text_in(secret.get()), 0600));
  return base::write_file(endpoint.certificate, text_in(open.get()), 0644);
}

}  // namespace http
