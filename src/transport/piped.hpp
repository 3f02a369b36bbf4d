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
  /// For connections to another machine: the time limit until a program may start, and the meaning of the
  /// client's own errors. Empty for this machine.
  std::optional<std::chrono::seconds> connect_timeout;
  std::function<base::Error(const std::string& words, bool begun)> failed;
  /// The host is connected; with the client's output so far.
  std::function<void(const std::string& words)> connected;
  /// Ends processes that remain after a command.
  std::function<void()> hang_up;
};

/// A transport with one child process per command.
[[nodiscard]] std::unique_ptr<Transport> piped(Session& session, Peer peer, Way way);

/// This machine, without SSH.
[[nodiscard]] std::unique_ptr<Transport> local(Session& session, const std::string& host);

}  // namespace transport
