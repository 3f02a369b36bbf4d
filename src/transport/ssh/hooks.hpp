#pragma once

#include <libssh2.h>

#include <sys/types.h>

#include <memory>
#include <string>

namespace transport {

class Login;

/// What libssh2's callbacks reach through a session's abstract pointer, and the limits under which it reads.
struct Hooks {
  Login* login = nullptr;
  std::size_t budget =
      0;  ///< bytes that may still be read in this turn: a flood must not starve the other hosts
  std::size_t received = 0;  ///< bytes so far
  bool wrote = false;        ///< something was sent since the last acknowledge
  bool greeted = false;      ///< the SSH handshake is through
  std::string first;         ///< the first bytes, for a server that speaks no SSH
  std::string goodbye;       ///< the server's words on disconnecting
  std::string broke;         ///< what became of the socket, in the system's words
};

struct FreeSession {
  void operator()(LIBSSH2_SESSION* session) const;
};
using SessionHandle = std::unique_ptr<LIBSSH2_SESSION, FreeSession>;

/// A non-blocking libssh2 session that reads through `hooks`. Null where memory is out.
[[nodiscard]] SessionHandle make_handle(Hooks& hooks);

}  // namespace transport
