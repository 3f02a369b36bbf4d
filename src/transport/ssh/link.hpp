#pragma once

#include "transport/dialogue.hpp"
#include "transport/ssh/config/config_cache.hpp"
#include "transport/ssh/dial.hpp"
#include "transport/ssh/hooks.hpp"
#include "transport/ssh/keys/host_key.hpp"
#include "transport/ssh/login.hpp"

#include <optional>
#include <string>
#include <vector>

namespace transport {

/// A logged-in libssh2 connection to one host, from `ssh -G` to the login, with one deadline.
class Link {
 public:
  Link(Session& session, std::string host, spec::Endpoint endpoint);
  ~Link() { close(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Starts to connect, unless that was done.
  void begin();
  /// True once logged in. After an error the link is closed and begin() starts again.
  [[nodiscard]] Result<bool> advance();
  void interests(std::vector<pollfd>& into) const;
  /// Whether the rest of the last packet waits for the socket.
  [[nodiscard]] bool is_blocked() const;
  /// Whether a small packet can be sent completely: for a logged-in link.
  [[nodiscard]] bool can_buffer() const;
  [[nodiscard]] std::optional<base::Instant> wake() const;
  /// Disconnects without waiting.
  void close();

  [[nodiscard]] bool ready() const { return phase_ == Phase::ready; }
  [[nodiscard]] LIBSSH2_SESSION* handle() const { return handle_.get(); }
  /// Start or end of a turn of reading and writing.
  void turn() { hooks_.budget = bytes_a_turn; }
  void turned();
  /// Bytes received so far.
  [[nodiscard]] std::size_t received() const { return hooks_.received; }
  /// Why the OpenSSH client must be used for this host; set by a failure.
  [[nodiscard]] const std::optional<std::string>& unserved() const { return unserved_; }
  /// Whether a key alone was enough for the last login.
  [[nodiscard]] bool by_key() const { return by_key_; }
  /// The other side, for messages. The user is known once `ssh -G` has answered.
  [[nodiscard]] const Peer& peer() const { return peer_; }
  /// The error for a connection that was lost while `doing`.
  [[nodiscard]] base::Error lost(const std::string& doing);

 private:
  enum class Phase { idle, pause, config, dial, handshake, login, ready };
  static constexpr std::size_t bytes_a_turn = 512u << 10;

  [[nodiscard]] Result<bool> proceed();
  [[nodiscard]] Result<bool> ask_config();
  [[nodiscard]] Result<bool> dial();
  [[nodiscard]] Result<bool> shake_hands();
  [[nodiscard]] Result<bool> log_in();
  [[nodiscard]] Result<> check_host_key();
  [[nodiscard]] Result<bool> handshake_failed(int code);
  /// The error of a connection that only the OpenSSH client can make; sets unserved() if it may.
  [[nodiscard]] std::unexpected<base::Error> needs_openssh(base::Fault fault, std::string why);
  [[nodiscard]] base::Error too_late() const;
  [[nodiscard]] bool may_move() const { return session_.options.client == spec::SshClient::automatic; }
  void drop();
  /// The query for `ssh -G`.
  [[nodiscard]] const ConfigQuestion& asked() const { return config_ && jump_ ? *jump_ : question_; }

  Session& session_;
  std::string host_;
  spec::Endpoint endpoint_;
  ConfigQuestion question_;
  std::optional<ConfigQuestion> jump_;
  Peer peer_;
  Phase phase_ = Phase::idle;
  base::Instant deadline_, address_deadline_, pause_until_;
  int attempts_ = 0;
  bool by_key_ = false;
  std::optional<Config> config_;
  std::optional<Dial> dial_;
  std::optional<HostKeyCheck> host_key_;
  std::optional<Login> login_;
  Hooks hooks_;
  SessionHandle handle_;
  std::optional<std::string> unserved_;
};

}  // namespace transport
