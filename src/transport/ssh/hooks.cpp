#include "transport/ssh/hooks.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/transport/transport.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace transport {

namespace {
constexpr std::size_t least_charge = 256;  // per call: libssh2 reads a banner byte by byte
constexpr std::size_t longest_greeting = 64u << 10;
constexpr std::size_t kept_greeting = 200;

ssize_t failed(Hooks& hooks) {
  const int code = errno;
  if (code != EAGAIN && code != EINTR && hooks.broke.empty()) hooks.broke = std::strerror(code);
  return -code;
}

ssize_t receive(libssh2_socket_t socket, void* buffer, size_t length, int, void** abstract) {
  Hooks& hooks = *static_cast<Hooks*>(*abstract);
  if (hooks.budget == 0) return -EAGAIN;
  if (!hooks.greeted && hooks.received > longest_greeting) return -ECONNABORTED;
  const ssize_t got = ::recv(socket, buffer, length, 0);
  if (got < 0) return failed(hooks);
  if (got == 0 && length > 0) hooks.broke = "closed by the host";
  const auto size = static_cast<std::size_t>(got);
  hooks.budget -= std::min(hooks.budget, std::max(size, least_charge));
  hooks.received += size;
  if (hooks.first.size() < kept_greeting)
    hooks.first.append(static_cast<const char*>(buffer), std::min(size, kept_greeting - hooks.first.size()));
  return got;
}

ssize_t send(libssh2_socket_t socket, const void* buffer, size_t length, int, void** abstract) {
  const ssize_t sent = ::send(socket, buffer, length, MSG_NOSIGNAL);
  Hooks& hooks = *static_cast<Hooks*>(*abstract);
  if (sent < 0) return failed(hooks);
  hooks.wrote = true;
  return sent;
}

void disconnected(LIBSSH2_SESSION*, int, const char* message, int length, const char*, int, void** abstract) {
  if (message && length > 0)
    static_cast<Hooks*>(*abstract)->goodbye.assign(
        message, std::min<std::size_t>(static_cast<std::size_t>(length), 300));
}

/// The older of the two functions is deprecated since libssh2 1.11.1.
template <class Function>
void call_back(LIBSSH2_SESSION* session, int type, Function* function) {
#if LIBSSH2_VERSION_NUM >= 0x010b01
  ::libssh2_session_callback_set2(session, type, reinterpret_cast<libssh2_cb_generic*>(function));
#else
  ::libssh2_session_callback_set(session, type, reinterpret_cast<void*>(function));
#endif
}
}  // namespace

void FreeSession::operator()(LIBSSH2_SESSION* session) const {
  // The socket is already shut down, so that nothing can wait for it.
  while (::libssh2_session_free(session) == LIBSSH2_ERROR_EAGAIN) {
  }
}

SessionHandle make_handle(Hooks& hooks) {
  SessionHandle handle(::libssh2_session_init_ex(nullptr, nullptr, nullptr, &hooks));
  if (!handle) return handle;
  ::libssh2_session_set_blocking(handle.get(), 0);
  call_back(handle.get(), LIBSSH2_CALLBACK_RECV, receive);
  call_back(handle.get(), LIBSSH2_CALLBACK_SEND, send);
  call_back(handle.get(), LIBSSH2_CALLBACK_DISCONNECT, disconnected);
  return handle;
}

std::string libssh2_version() {
  return ::libssh2_version(0);
}

}  // namespace transport
