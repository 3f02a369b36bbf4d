#pragma once

namespace base {

/// Ctrl-C and SIGTERM as a descriptor for a poll loop. SIGINT and SIGTERM are caught while an instance
/// exists. An instance may be made while another one exists, and ends before it: the outer one then has the
/// signals of both.
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
  int outer_ = -1;  ///< descriptor of the instance that was there before, for its signals; -1: none
};

}  // namespace base
