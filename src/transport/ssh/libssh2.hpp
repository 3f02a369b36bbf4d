#pragma once

#include "transport/dialogue.hpp"
#include "transport/ssh/link.hpp"

namespace transport {

/// One host through libssh2: one connection kept open, one channel a command.
class Libssh2 final : public Transport {
 public:
  Libssh2(Session& session, const std::string& host, const spec::Endpoint& endpoint);
  ~Libssh2() override { close(); }

  Result<void> start(Command command) override;
  void interests(std::vector<pollfd>& into) const override;
  [[nodiscard]] std::optional<base::Instant> wake() const override;
  Result<std::optional<Exit>> advance() override;
  void close() override;
  [[nodiscard]] std::uint64_t sent() const override { return dialogue_ ? dialogue_->handed_on() : 0; }
  [[nodiscard]] std::string kind() const override { return "libssh2"; }

  /// Set by a failed login: why the OpenSSH client must serve this host.
  [[nodiscard]] const std::optional<std::string>& unserved() const { return link_.unserved(); }

 private:
  enum class Phase { idle, link, open, exec, talk, closing };

  [[nodiscard]] Result<std::optional<Exit>> go_on();
  [[nodiscard]] Result<bool> step();
  [[nodiscard]] Result<bool> open_channel();
  [[nodiscard]] Result<bool> exec();
  [[nodiscard]] Result<bool> talk();
  [[nodiscard]] Result<bool> close_channel();
  [[nodiscard]] Result<> receive();
  [[nodiscard]] Result<> send();
  [[nodiscard]] Result<Exit> result();
  [[nodiscard]] std::unexpected<base::Error> lost();
  [[nodiscard]] std::unexpected<base::Error> too_late() const;
  void free_channel();

  Session& session_;
  Link link_;
  Phase phase_ = Phase::idle;
  Command command_;
  std::optional<Dialogue> dialogue_;
  std::optional<Root> root_;
  LIBSSH2_CHANNEL* channel_ = nullptr;
  bool reused_ = false;  ///< the connection was there before this command: it may have died unseen
  bool sent_eof_ = false;
  bool waits_for_room_ = false;  ///< in the socket, to send the end of the input
  std::string line_;
  base::Instant begun_, deadline_;
};

}  // namespace transport
