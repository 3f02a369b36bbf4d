#pragma once

#include "transport/child.hpp"
#include "transport/ssh/resolver.hpp"

#include <optional>
#include <string>
#include <vector>

namespace transport {

/// A byte stream to a host's SSH server: TCP, trying all addresses, or a proxy command's stdin and stdout.
class Dial {
 public:
  /// `proxy` empty: TCP to host:port, at an address of `family`. `keep_alive`: seconds of silence after which
  /// TCP keep-alive probes are sent; three times that without an answer ends the connection.
  Dial(std::string host, std::uint16_t port, std::vector<std::string> proxy, int keep_alive, int family);

  /// True once connected. Fault::unreachable with the address and the reason.
  [[nodiscard]] base::Result<bool> advance();
  void interests(std::vector<pollfd>& into) const;
  [[nodiscard]] std::optional<base::Instant> wake() const;
  /// Tries the address after a hanging one; returns whether there is one.
  [[nodiscard]] bool try_next();

  /// Non-blocking.
  [[nodiscard]] int descriptor() const { return child_ ? child_->in.get() : socket_.get(); }
  /// "192.0.2.1:22", or the proxy command.
  [[nodiscard]] const std::string& peer() const { return peer_; }
  /// "192.0.2.1". Empty: a proxy's.
  [[nodiscard]] std::string address() const;
  /// Whether the addresses of the host's name are not known yet.
  [[nodiscard]] bool is_resolving() const { return resolver_ && !connecting_; }
  [[nodiscard]] bool is_proxy() const { return !proxy_.empty(); }
  /// The proxy command's output on stderr.
  [[nodiscard]] std::string proxy_message();
  /// Acknowledges received data immediately until something is sent: saves 40 ms on small answers, which sshd
  /// delays until the previous one is acknowledged.
  void acknowledge() const;

 private:
  [[nodiscard]] base::Result<bool> begin_connect();
  void refused(int error);

  std::string host_;
  std::uint16_t port_;
  std::vector<std::string> proxy_;
  int keep_alive_, family_;
  std::optional<Resolver> resolver_;
  std::vector<Address> left_;
  Descriptor socket_;
  std::optional<Child> child_;
  bool connecting_ = false;
  std::string peer_, problem_, proxy_words_;
};

}  // namespace transport
