#pragma once

#include <chrono>
#include <memory>
#include <string>

struct ssl_st;
struct ssl_ctx_st;

namespace http {

/// One client. Never waits.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  /// Takes the descriptor, which must not block. `context`: nullptr for a connection without TLS.
  Connection(int descriptor, ssl_ctx_st* context);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// For poll().
  [[nodiscard]] short events() const { return events_; }
  [[nodiscard]] Clock::time_point deadline() const { return deadline_; }
  [[nodiscard]] bool is_open() const { return state_ != State::closed; }
  [[nodiscard]] bool has_answer() const { return state_ == State::writing; }
  /// What was read and is not answered yet.
  [[nodiscard]] const std::string& input() const { return input_; }

  /// Continues after poll(). True: there is new input.
  [[nodiscard]] bool advance();
  /// Writes an answer, and closes the connection.
  void answer(std::string text);

 private:
  enum class State { handshake, reading, writing, closed };
  struct Freed {
    void operator()(ssl_st* tls) const;
  };
  long receive(char* into, std::size_t most);
  long send(const char* from, std::size_t size);
  void fail_or_wait(int result);
  [[nodiscard]] bool read();
  void write();
  void close();

  int descriptor_;
  std::unique_ptr<ssl_st, Freed> tls_;
  State state_;
  short events_;
  Clock::time_point deadline_;
  std::string input_, output_;
  std::size_t written_ = 0;
};

}  // namespace http
