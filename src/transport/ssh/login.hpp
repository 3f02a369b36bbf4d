#pragma once

#include "transport/session.hpp"
#include "transport/ssh/config/config.hpp"
#include "transport/ssh/keys/key_ring.hpp"

#include <libssh2.h>

#include <optional>
#include <string>

namespace transport {

/// Authentication at a server: keys, then keyboard-interactive, then a password.
class Login {
 public:
  Login(Session& session, LIBSSH2_SESSION* handle, std::string host, const Config& config,
        KeyRing::Offer offer);

  /// True once logged in; false while waiting. Fault::auth if all methods have failed; Fault::unreachable if
  /// the server closed the connection; the caller writes the message.
  [[nodiscard]] Result<bool> advance();
  /// Why the OpenSSH client may succeed after this failure.
  [[nodiscard]] const std::optional<std::string>& unserved() const { return unserved_; }
  /// Whether a key alone was enough: for a login that has succeeded.
  [[nodiscard]] bool by_key() const { return stage_ == Stage::keys; }

  /// For libssh2's callback: answers one prompt of keyboard-interactive.
  [[nodiscard]] std::string answer(const std::string& prompt, bool shown);

 private:
  enum class Stage { keys, methods, interactive, password };
  [[nodiscard]] Result<bool> try_keys();
  [[nodiscard]] Result<bool> ask_methods();
  [[nodiscard]] Result<bool> try_interactive();
  [[nodiscard]] Result<bool> try_password();
  [[nodiscard]] std::optional<std::string> for_openssh() const;
  [[nodiscard]] bool take_password();
  [[nodiscard]] std::unexpected<base::Error> refused() const;
  [[nodiscard]] std::unexpected<base::Error> ended();
  void forget_password();
  [[nodiscard]] bool may_try(std::string_view method) const;
  [[nodiscard]] int password_tries() const;

  Session& session_;
  LIBSSH2_SESSION* handle_;
  std::string host_;
  const Config& config_;
  KeyRing::Offer offer_;
  Stage stage_ = Stage::keys;
  std::size_t next_key_ = 0;
  std::string methods_, tried_;
  std::optional<base::Secret> password_;
  int passwords_tried_ = 0;
  bool prompted_ = false, nobody_answers_ = false;
  std::optional<std::string> unserved_;
};

}  // namespace transport
