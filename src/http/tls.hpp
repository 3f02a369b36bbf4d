#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace http {

/// OpenSSL's libssl, of the machine: the library is loaded when it is needed. Every host with sshd has it,
/// next to libcrypto.
struct Tls {
  decltype(&::TLS_server_method) server_method = nullptr;
  decltype(&::SSL_CTX_new) new_context = nullptr;
  decltype(&::SSL_CTX_free) free_context = nullptr;
  decltype(&::SSL_CTX_ctrl) control = nullptr;
  decltype(&::SSL_CTX_set_options) set_options = nullptr;
  decltype(&::SSL_CTX_use_certificate_chain_file) use_certificate = nullptr;
  decltype(&::SSL_CTX_use_PrivateKey_file) use_key = nullptr;
  decltype(&::SSL_CTX_check_private_key) check_key = nullptr;
  decltype(&::SSL_new) new_connection = nullptr;
  decltype(&::SSL_free) free_connection = nullptr;
  decltype(&::SSL_set_fd) set_descriptor = nullptr;
  decltype(&::SSL_set_accept_state) set_accept_state = nullptr;
  decltype(&::SSL_do_handshake) handshake = nullptr;
  decltype(&::SSL_read) read = nullptr;
  decltype(&::SSL_write) write = nullptr;
  decltype(&::SSL_shutdown) shutdown = nullptr;
  decltype(&::SSL_get_error) error_of = nullptr;
  /// Of the libcrypto that this libssl uses, which need not be the one in this program.
  decltype(&::ERR_clear_error) clear_errors = nullptr;
  decltype(&::ERR_get_error) next_error = nullptr;
  decltype(&::ERR_error_string_n) error_text = nullptr;
  bool complete = false;
};

/// Loaded once.
[[nodiscard]] const Tls& tls();

}  // namespace http
