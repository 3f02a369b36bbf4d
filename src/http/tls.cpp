#include "http/tls.hpp"

#include "gpuadm/base/certificate.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/http/server.hpp"

#include <dlfcn.h>

#include <chrono>

namespace http {

namespace {

constexpr std::chrono::hours least_left{30 * 24};

bool is_current(const Endpoint& endpoint, const std::string& name) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(endpoint.key, error))) return false;
  return base::is_server_certificate(base::read_file(endpoint.certificate, 64u << 10).value_or(""),
                                     endpoint.address, name, least_left);
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
  const base::ServerCertificate made =
      TRY(base::new_server_certificate("gpuadm-metrics", endpoint.address, name));
  // A run that ends between the two leaves a pair that does not fit, and OpenSSL refuses it: the certificate,
  // which decides whether the pair is kept, is written last.
  std::error_code error;
  std::filesystem::remove(endpoint.certificate, error);
  TRY(base::write_file(endpoint.key, made.key.reveal(), 0600));
  return base::write_file(endpoint.certificate, made.certificate, 0644);
}

}  // namespace http
