#include "transport/ssh/dial.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <cstring>

namespace transport {

namespace {
void set(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof value);
}

void tune(int fd, int keep_alive) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, keep_alive);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, keep_alive);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, keep_alive * 3000);
}
}  // namespace

Dial::Dial(std::string host, std::uint16_t port, std::vector<std::string> proxy, int keep_alive, int family)
    : host_(std::move(host)),
      port_(port),
      proxy_(std::move(proxy)),
      keep_alive_(std::max(keep_alive, 1)),
      family_(family) {
  peer_ = proxy_.empty() ? fmt::format("{}:{}", host_, port_) : "`" + base::join(proxy_, " ") + "`";
}

base::Result<bool> Dial::advance() {
  if (!proxy_.empty()) {
    if (!child_) child_ = TRY(Child::spawn(proxy_, Child::Wiring::socket));
    return true;
  }
  if (connecting_) {
    pollfd ready{socket_.get(), POLLOUT, 0};
    if (::poll(&ready, 1, 0) == 0) return false;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) return true;
    refused(error);
  } else {
    if (!resolver_) resolver_.emplace(host_, port_, family_);
    const auto found = TRY(resolver_->poll());
    if (!found) return false;
    left_ = *found;
  }
  return begin_connect();
}

base::Result<bool> Dial::begin_connect() {
  while (!left_.empty()) {
    const Address address = left_.front();
    left_.erase(left_.begin());
    peer_ = text_of(address);
    socket_.reset(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket_.is_open()) {
      tune(socket_.get(), keep_alive_);
      if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0 ||
          errno == EINPROGRESS) {
        connecting_ = true;
        return false;
      }
    }
    refused(errno);
  }
  return base::fail(base::Fault::unreachable, problem_,
                    "check that the host is up, that sshd is running, and that no firewall blocks the port");
}

std::string Dial::address() const {
  if (is_proxy()) return {};
  const std::string address = peer_.substr(0, peer_.rfind(':'));
  return address.starts_with('[') ? address.substr(1, address.size() - 2) : address;
}

void Dial::refused(int error) {
  connecting_ = false;
  socket_.reset();
  if (!problem_.empty()) problem_ += "; ";
  problem_ += fmt::format("{}: {}", peer_, base::lower(std::strerror(error)));
}

bool Dial::try_next() {
  if (!connecting_ || left_.empty()) return false;
  refused(ETIMEDOUT);
  return begin_connect().has_value();
}

void Dial::interests(std::vector<pollfd>& into) const {
  if (connecting_) into.push_back({socket_.get(), POLLOUT, 0});
}

std::optional<base::Instant> Dial::wake() const {
  if (!resolver_ || connecting_ || !proxy_.empty()) return std::nullopt;
  return resolver_->wake();
}

std::string Dial::proxy_message() {
  if (!child_) return {};
  while (child_->err.is_open() && Child::read(child_->err, proxy_words_) == Child::Read::some) {
  }
  return base::tail(base::trim(proxy_words_), 3);
}

void Dial::acknowledge() const {
  if (socket_.is_open()) set(socket_.get(), IPPROTO_TCP, TCP_QUICKACK, 1);
}

}  // namespace transport
