#pragma once

namespace base {

/// Ctrl-C and SIGTERM as a descriptor for a poll loop. SIGINT and SIGTERM are caught while an instance
/// exists. At most one instance at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  /// Readable after each signal; for poll().
  [[nodiscard]] int descriptor() const { return pipe_[0]; }
  /// Empties the descriptor. Returns the number of signals so far: 1 = finish the running steps, 2 or more =
  /// close now.
  int count();

 private:
  int pipe_[2] = {-1, -1};
};

}  // namespace base
