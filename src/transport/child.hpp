#pragma once

#include "gpuadm/base/error.hpp"

#include "transport/descriptor.hpp"

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transport {

/// A child process in its own session (no terminal, so that neither Ctrl-C nor a prompt reaches it),
/// connected by non-blocking pipes. Its destructor kills and reaps it.
class Child {
 public:
  /// One descriptor for stdin and stdout (for a proxy), or one pipe each.
  enum class Wiring { pipes, socket };

  /// Searches the program in PATH. Fault::bug with errno's text if it cannot be started.
  [[nodiscard]] static base::Result<Child> spawn(const std::vector<std::string>& argv, Wiring wiring);
  Child() = default;
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  Descriptor in, out, err;  ///< as a socket: `in` is used for both directions, `out` is not open

  /// Writes without blocking. Returns the number of bytes; -1 if the child no longer reads.
  [[nodiscard]] ssize_t write(std::string_view bytes);
  /// Passes at most 1 MiB of a file, from its current position, without copying it: splice(2). Returns the
  /// number of bytes, 0 at the end of the file; -1 with errno (EAGAIN: the pipe is full; EPIPE: the child no
  /// longer reads; others: not possible for this file).
  [[nodiscard]] ssize_t pass(int file);
  enum class Read { some, later, end };
  /// Appends at most 64 KiB to `into`; closes the descriptor at its end.
  static Read read(Descriptor& from, std::string& into);
  /// Exit status (128 + signal if killed) once it has ended.
  [[nodiscard]] std::optional<int> status();
  /// Waits for the end, with a time limit. For children that end by themselves at once.
  void wait(std::chrono::milliseconds longest);
  /// Descriptors to poll for, `in` only if `writes`.
  enum class Writes { yes, no };
  void interests(std::vector<pollfd>& into, Writes writes) const;
  /// Signals the whole process group.
  void signal(int number) const;
  [[nodiscard]] bool running() const { return pid_ > 0 && !status_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  void end();
  pid_t pid_ = -1;
  Descriptor exit_;  ///< readable when the process ends
  std::optional<int> status_;
};

}  // namespace transport
