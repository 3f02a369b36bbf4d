#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

/// Sockets whose every wait has a deadline. IPv4 and IPv6; addresses, not names.
namespace sockets {

using Clock = std::chrono::steady_clock;

/// What a connection failed with, as text.
struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&&) = delete;
  ~Socket();
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

[[nodiscard]] std::string last_error();

/// On every address of both families. get() < 0: errno says why not.
[[nodiscard]] Socket listen_on(int port);
[[nodiscard]] Socket accept_from(const Socket& listener);

/// Each throws Failed.
[[nodiscard]] Socket connect_to(const std::string& address, int port, Clock::time_point until);
void send_all(const Socket& socket, std::string_view bytes, Clock::time_point until);
[[nodiscard]] std::string receive_some(const Socket& socket, std::size_t most, Clock::time_point until);
/// Sends, and receives as many bytes into `back` meanwhile.
void exchange(const Socket& socket, std::string_view bytes, std::string& back, Clock::time_point until);

enum class Over { udp, tcp };
/// One message to port 53, and the one that answers.
[[nodiscard]] std::string ask_dns(const std::string& server, std::string_view query, Over over,
                                  Clock::time_point until);

}  // namespace sockets
