#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/interrupt.hpp"
#include "gpuadm/base/time.hpp"

#include <poll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Sends requests over HTTP/1.1, without TLS: to this machine, or through a tunnel.
namespace http {

using base::Result;

struct Call {
  std::string address;  ///< IPv4 or IPv6, without brackets
  std::uint16_t port = 0;
  std::string method = "GET", path = "/";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::size_t limit = 4u << 20;  ///< bytes of the answer
  /// Called with each part of the answer's body as it arrives. Empty: the parts are collected.
  std::function<void(std::string_view part)> part = {};
};

struct Answer {
  int status = 0;
  std::string body;  ///< empty if the call has `part`
};

/// One request and its answer. Passive like a transport: it never waits, and names its descriptor.
class Exchange {
 public:
  /// Begins to connect.
  explicit Exchange(Call call);
  Exchange(Exchange&& other) noexcept;
  Exchange& operator=(Exchange&& other) noexcept;
  ~Exchange();

  /// What to poll for; a descriptor of -1 once it is done.
  [[nodiscard]] pollfd interest() const;
  /// Continues as far as it is possible without waiting.
  void advance();
  [[nodiscard]] bool is_done() const;
  /// Once it is done. Fault::unreachable: no connection, or it was closed before the answer was complete;
  /// Fault::parse: the answer is not HTTP, or longer than its limit.
  [[nodiscard]] const Result<Answer>& answer() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Continues all of them until one of them is done. Fault::timeout at the deadline,
/// Fault::interrupted after Ctrl-C.
[[nodiscard]] Result<> drive(std::span<Exchange* const> exchanges, base::Instant deadline,
                             base::Interrupt& interrupt);
/// One call, until its answer is complete.
[[nodiscard]] Result<Answer> call(Call call, base::Instant deadline, base::Interrupt& interrupt);

}  // namespace http
