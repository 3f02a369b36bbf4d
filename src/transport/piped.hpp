#pragma once

#include "transport/child.hpp"
#include "transport/session.hpp"
#include "transport/sudo.hpp"

#include <functional>

namespace transport {

/// How a child process carries commands: this machine's shell, or the ssh client.
struct Way {
  std::string kind;
  StatusFrom status_from = StatusFrom::channel_status;
  std::function<std::vector<std::string>(const std::string& line)> argv;
  /// Of a way that leads to another machine: how long until a program may begin, and what its own failure
  /// means, given its words. Empty for this machine.
  std::optional<std::chrono::seconds> connect_timeout;
  std::function<base::Error(const std::string& words, bool begun)> failed;
  /// The host is reached; with the words that came before.
  std::function<void(const std::string& words)> connected;
  /// What stays behind a command is to be ended.
  std::function<void()> hang_up;
};

/// A transport over a child process a command.
[[nodiscard]] std::unique_ptr<Transport> piped(Session& session, Peer peer, Way way);

/// This machine, without SSH.
[[nodiscard]] std::unique_ptr<Transport> local(Session& session, const std::string& host);

}  // namespace transport
