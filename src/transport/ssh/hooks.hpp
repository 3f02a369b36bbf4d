#pragma once

#include <libssh2.h>

#include <sys/types.h>

#include <memory>
#include <string>

namespace transport {

class Login;

/// State that libssh2's callbacks access through a session's abstract pointer, and its read limits.
struct Hooks {
  Login* login = nullptr;
  std::size_t budget =
      0;  ///< bytes that may still be read in this turn: a flood must not starve the other hosts
  std::size_t received = 0;  ///< bytes so far
  bool wrote = false;        ///< something was sent since the last acknowledgment
  bool greeted = false;      ///< the SSH handshake is complete
  std::string first;         ///< the first bytes, for servers that do not speak SSH
  std::string goodbye;       ///< the server's disconnect message
  std::string broke;         ///< error of the socket, from the system
};

struct FreeSession {
  void operator()(LIBSSH2_SESSION* session) const;
};
using SessionHandle = std::unique_ptr<LIBSSH2_SESSION, FreeSession>;

/// A non-blocking libssh2 session that reads through `hooks`. Null if out of memory.
[[nodiscard]] SessionHandle make_handle(Hooks& hooks);

}  // namespace transport
