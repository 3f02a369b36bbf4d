#include "sockets.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sockets {
namespace {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address address_of(const std::string& text, int port) {
  Address address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<std::uint16_t>(port));
    address.size = sizeof *v4;
  } else if (inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<std::uint16_t>(port));
    address.size = sizeof *v6;
  } else {
    throw Failed(text + " is not an IP address");
  }
  return address;
}

/// Waits until one of the events; which of them.
short wait_for(const Socket& socket, short events, Clock::time_point until) {
  pollfd one{socket.get(), events, 0};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  const int ready = left <= 0 ? 0 : poll(&one, 1, static_cast<int>(left) + 1);
  if (ready == 0) throw Failed("no answer in time");
  if (ready < 0 && errno != EINTR) throw Failed(last_error());
  return ready < 0 ? short{0} : one.revents;
}

/// Bytes, or 0 where there is nothing yet.
std::size_t received(const Socket& socket, char* bytes, std::size_t size) {
  const ssize_t got = ::recv(socket.get(), bytes, size, 0);
  if (got == 0) throw Failed("the other side closed the connection");
  if (got < 0 && errno != EAGAIN && errno != EINTR) throw Failed(last_error());
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

std::size_t sent(const Socket& socket, std::string_view bytes) {
  const ssize_t put = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (put < 0 && errno != EAGAIN && errno != EINTR) throw Failed(last_error());
  return put > 0 ? static_cast<std::size_t>(put) : 0;
}

Socket open(const Address& address, int type) {
  Socket socket(::socket(address.storage.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) throw Failed(last_error());
  return socket;
}

std::string receive_exactly(const Socket& socket, std::size_t size, Clock::time_point until) {
  std::string bytes;
  while (bytes.size() < size) bytes += receive_some(socket, size - bytes.size(), until);
  return bytes;
}

}  // namespace

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string last_error() {
  return std::strerror(errno);
}

Socket listen_on(int port) {
  const int on = 1, off = 0;
  Socket v6(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(static_cast<std::uint16_t>(port));
  setsockopt(v6.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(v6.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (v6.get() >= 0 && bind(v6.get(), reinterpret_cast<const sockaddr*>(&any6), sizeof any6) == 0 &&
      listen(v6.get(), 128) == 0)
    return v6;
  Socket v4(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));  // a kernel without IPv6
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_port = any6.sin6_port;
  setsockopt(v4.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (v4.get() >= 0 && bind(v4.get(), reinterpret_cast<const sockaddr*>(&any4), sizeof any4) == 0 &&
      listen(v4.get(), 128) == 0)
    return v4;
  return Socket(-1);
}

Socket accept_from(const Socket& listener) {
  return Socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

Socket connect_to(const std::string& address, int port, Clock::time_point until) {
  const Address to = address_of(address, port);
  Socket socket = open(to, SOCK_STREAM);
  if (::connect(socket.get(), to.get(), to.size) == 0) return socket;
  if (errno != EINPROGRESS) throw Failed(last_error());
  wait_for(socket, POLLOUT, until);
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) throw Failed(std::strerror(error));
  return socket;
}

void send_all(const Socket& socket, std::string_view bytes, Clock::time_point until) {
  while (!bytes.empty()) {
    wait_for(socket, POLLOUT, until);
    bytes.remove_prefix(sent(socket, bytes));
  }
}

std::string receive_some(const Socket& socket, std::size_t most, Clock::time_point until) {
  std::string bytes(most, '\0');
  std::size_t size = 0;
  while (size == 0) {
    wait_for(socket, POLLIN, until);
    size = received(socket, bytes.data(), most);
  }
  bytes.resize(size);
  return bytes;
}

void exchange(const Socket& socket, std::string_view bytes, std::string& back, Clock::time_point until) {
  const std::size_t all = bytes.size();
  while (back.size() < all) {
    const auto events = static_cast<short>(POLLIN | (bytes.empty() ? 0 : POLLOUT));
    const short ready = wait_for(socket, events, until);
    if (ready & POLLOUT) bytes.remove_prefix(sent(socket, bytes));
    if (ready & (POLLIN | POLLHUP | POLLERR)) {
      char some[4096];
      back.append(some, received(socket, some, std::min(sizeof some, all - back.size())));
    }
  }
}

std::string ask_dns(const std::string& server, std::string_view query, Over over, Clock::time_point until) {
  if (over == Over::tcp) {
    const Socket socket = connect_to(server, 53, until);
    const char head[] = {static_cast<char>(query.size() >> 8), static_cast<char>(query.size())};
    send_all(socket, std::string(head, 2) + std::string(query), until);
    const std::string size = receive_exactly(socket, 2, until);
    return receive_exactly(socket,
                           static_cast<std::size_t>(static_cast<unsigned char>(size[0]) << 8 |
                                                    static_cast<unsigned char>(size[1])),
                           until);
  }
  const Address to = address_of(server, 53);
  const Socket socket = open(to, SOCK_DGRAM);
  // A connected socket takes datagrams of that server only, and hears that nothing listens there.
  if (::connect(socket.get(), to.get(), to.size) != 0) throw Failed(last_error());
  send_all(socket, query, until);
  return receive_some(socket, 4096, until);
}

}  // namespace sockets
