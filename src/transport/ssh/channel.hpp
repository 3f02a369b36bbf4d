#pragma once

#include "transport/dialogue.hpp"
#include "transport/ssh/link.hpp"

#include <limits>
#include <optional>
#include <string>

namespace transport {

/// One channel of a link, and its dialogue. Passive: operations that would block return false and are called
/// again. An error ends the connection.
class Channel {
 public:
  Channel(Link& link, const std::string& label) : link_(link), label_(label) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  enum class Opened { yes, not_yet, refused };
  /// refused: sshd opens no more sessions on this connection (MaxSessions).
  [[nodiscard]] Result<Opened> open();
  void speak(Command command, Root root, const Marks& marks, Share share);
  [[nodiscard]] Result<bool> exec();
  [[nodiscard]] Result<> receive();
  /// Sends as much as possible without blocking; of a file until this many bytes are sent(). False: a packet
  /// was sent in part, and must be completed before anything else is sent on this connection.
  [[nodiscard]] Result<bool> send(std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
  /// Whether the end of the input waits for space in the socket.
  [[nodiscard]] bool waits_to_send() const { return waits_to_send_; }
  [[nodiscard]] bool said_all() const { return ::libssh2_channel_eof(channel_) == 1; }
  /// Waits until the host has closed the channel.
  [[nodiscard]] Result<bool> finish();
  /// Closes the channel from here: whether that is done. Errors appear in the next operation.
  [[nodiscard]] bool close() { return ::libssh2_channel_close(channel_) != LIBSSH2_ERROR_EAGAIN; }
  /// The result; frees the channel.
  [[nodiscard]] Result<Exit> result();

  [[nodiscard]] bool is_open() const { return channel_ != nullptr; }
  /// Nothing before speak().
  [[nodiscard]] std::optional<Dialogue>& dialogue() { return dialogue_; }
  [[nodiscard]] std::uint64_t sent() const { return dialogue_ ? dialogue_->handed_on() : 0; }
  /// Unsent data is freed with the session.
  void free();
  /// The session is closed, and the channel with it.
  void forget();

 private:
  [[nodiscard]] std::unexpected<base::Error> lost();

  Link& link_;
  const std::string& label_;  ///< of the command
  LIBSSH2_CHANNEL* channel_ = nullptr;
  std::optional<Dialogue> dialogue_;
  std::string line_;
  bool sent_eof_ = false, waits_to_send_ = false;
};

}  // namespace transport
