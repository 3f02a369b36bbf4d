#include "http/connection.hpp"

#include "http/request.hpp"
#include "http/tls.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace http {

namespace {

constexpr std::chrono::seconds timeout{10};

}  // namespace

void Connection::Freed::operator()(ssl_st* connection) const {
  tls().free_connection(connection);
}

Connection::Connection(int descriptor, ssl_ctx_st* context)
    : descriptor_(descriptor),
      state_(context ? State::handshake : State::reading),
      events_(POLLIN),
      deadline_(Clock::now() + timeout) {
  if (!context) return;
  tls_.reset(tls().new_connection(context));
  if (!tls_ || tls().set_descriptor(tls_.get(), descriptor) != 1)
    close();
  else
    tls().set_accept_state(tls_.get());
}

Connection::~Connection() {
  close();
}

void Connection::close() {
  state_ = State::closed;
  tls_.reset();
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

/// After a call of OpenSSL, or of the kernel, that has failed with `result`.
void Connection::fail_or_wait(int result) {
  if (tls_) {
    const int error = tls().error_of(tls_.get(), result);
    events_ = error == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN;
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) close();
  } else if (result == 0 || (errno != EAGAIN && errno != EINTR)) {
    close();
  }
}

long Connection::receive(char* into, std::size_t most) {
  if (tls_) tls().clear_errors();
  return tls_ ? tls().read(tls_.get(), into, static_cast<int>(most)) : ::recv(descriptor_, into, most, 0);
}

long Connection::send(const char* from, std::size_t size) {
  if (tls_) tls().clear_errors();
  return tls_ ? tls().write(tls_.get(), from, static_cast<int>(size))
              : ::send(descriptor_, from, size, MSG_NOSIGNAL);
}

bool Connection::read() {
  char buffer[2048];
  bool any = false;
  while (input_.size() <= most_request) {
    const long got = receive(buffer, sizeof buffer);
    // A client may end its side after the request, and is answered.
    if (got == 0 && any) break;
    if (got <= 0) {
      fail_or_wait(static_cast<int>(got));
      break;
    }
    input_.append(buffer, static_cast<std::size_t>(got));
    any = true;
  }
  return any && is_open();
}

void Connection::write() {
  constexpr std::size_t most_piece = 64u << 10;
  while (written_ < output_.size()) {
    const long sent = send(output_.data() + written_, std::min(most_piece, output_.size() - written_));
    if (sent <= 0) {
      fail_or_wait(static_cast<int>(sent));
      return;
    }
    written_ += static_cast<std::size_t>(sent);
  }
  if (tls_) tls().shutdown(tls_.get());
  ::shutdown(descriptor_, SHUT_WR);
  close();
}

bool Connection::advance() {
  if (state_ == State::handshake) {
    if (tls_) tls().clear_errors();
    const int result = tls().handshake(tls_.get());
    if (result != 1) {
      fail_or_wait(result);
      return false;
    }
    state_ = State::reading;
    events_ = POLLIN;
  }
  if (state_ == State::reading) return read();
  if (state_ == State::writing) write();
  return false;
}

void Connection::answer(std::string text) {
  if (state_ != State::reading) return;
  output_ = std::move(text);
  state_ = State::writing;
  events_ = POLLOUT;
  write();
}

}  // namespace http
