#pragma once

#include "transport/ssh/channel.hpp"

namespace transport {

/// One host through libssh2: one persistent connection; one channel per command, or two for a large file with
/// a high round-trip time.
class Libssh2 final : public Transport {
 public:
  Libssh2(Session& session, const std::string& host, const spec::Endpoint& endpoint);
  ~Libssh2() override { close(); }

  Result<void> start(Command command) override;
  void interests(std::vector<pollfd>& into) const override;
  [[nodiscard]] std::optional<base::Instant> wake() const override;
  Result<std::optional<Exit>> advance() override;
  void close() override;
  [[nodiscard]] std::uint64_t sent() const override { return main_.sent() + second_.sent(); }
  [[nodiscard]] std::string kind() const override { return "libssh2"; }

  /// Set by a failed login: why the OpenSSH client must be used for this host.
  [[nodiscard]] const std::optional<std::string>& unserved() const { return link_.unserved(); }
  /// Whether the OpenSSH client would send the command's file faster, and can probably log in: it is large,
  /// would use one channel here, and a key was enough for this login.
  [[nodiscard]] bool is_slower_than_openssh(const Command& command) const;

 private:
  enum class Phase {
    idle,
    link,
    open,
    open_second,
    exec_second,
    begin_second,
    exec,
    talk,
    closing,
    closing_second
  };

  [[nodiscard]] Result<std::optional<Exit>> proceed();
  [[nodiscard]] Result<bool> step();
  [[nodiscard]] Result<bool> open_main();
  [[nodiscard]] Result<bool> open_second();
  /// The second channel's program starts before data is distributed: if it fails, one channel is used.
  [[nodiscard]] Result<bool> begin_second();
  [[nodiscard]] Result<bool> talk();
  [[nodiscard]] Result<bool> close_main();
  [[nodiscard]] Result<bool> close_second();
  [[nodiscard]] Root root() const;
  /// Whether a command's file uses two channels: it is large, the round-trip time is high, and sudo needs no
  /// password.
  [[nodiscard]] bool takes_two(const Command& command) const;
  void speak(const Share& share);
  [[nodiscard]] Result<> send();
  [[nodiscard]] std::unexpected<base::Error> too_late();

  Session& session_;
  Link link_;
  Phase phase_ = Phase::idle;
  Command command_;
  std::optional<Root> root_;
  Channel main_{link_, command_.label}, second_{link_, command_.label};
  Share share_;                ///< the first channel's, if there is a second
  bool second_first_ = false;  ///< the second channel has sent a packet in part
  bool reused_ = false;  ///< the connection existed before this command: it may have been closed unnoticed
  std::optional<base::Instant> asked_;  ///< time of the request for the channel
  base::Clock::duration round_trip_{};  ///< duration until the answer
  base::Instant begun_, deadline_;      ///< deadline_: of the command, or of the current operation
};

}  // namespace transport
