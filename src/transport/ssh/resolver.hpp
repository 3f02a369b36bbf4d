#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/time.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace transport {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

/// "192.0.2.1:22", "[::1]:22".
[[nodiscard]] std::string text_of(const Address& address);

/// Resolves a name without blocking: numeric addresses at once, names by the C library's own thread.
class Resolver {
 public:
  Resolver(const std::string& host, std::uint16_t port, int family);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// The addresses in the order of attempts; nothing during the look-up; Fault::unreachable if it has none.
  [[nodiscard]] base::Result<std::optional<std::vector<Address>>> poll();
  /// When to call poll() again: a look-up has no descriptor.
  [[nodiscard]] base::Instant wake() const { return next_; }

 private:
  struct Lookup;
  std::string host_;
  std::unique_ptr<Lookup> lookup_;
  std::optional<std::vector<Address>> numeric_;
  base::Clock::duration pause_{};
  base::Instant next_;
};

}  // namespace transport
