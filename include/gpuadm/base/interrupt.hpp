#pragma once

namespace base {

/// Ctrl-C and SIGTERM as something a poll loop can wait for. While one lives, SIGINT and SIGTERM are caught.
/// One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  /// Readable after each signal; for poll().
  [[nodiscard]] int descriptor() const { return pipe_[0]; }
  /// Empties the descriptor. Returns how many signals came so far: 1 = finish the running steps, 2 or more =
  /// close now.
  int count();

 private:
  int pipe_[2] = {-1, -1};
};

}  // namespace base
