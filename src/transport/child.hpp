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

/// A child process in a session of its own (no terminal, so neither Ctrl-C nor a prompt reaches it), spoken
/// to through non-blocking pipes. Its destructor kills and reaps it.
class Child {
 public:
  /// One descriptor for stdin and stdout (for a proxy), or a pipe each.
  enum class Wiring { pipes, socket };

  /// Looks the program up in PATH. Fault::bug where it cannot be started, with errno's words.
  [[nodiscard]] static base::Result<Child> spawn(const std::vector<std::string>& argv, Wiring wiring);
  Child() = default;
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  Descriptor in, out, err;  ///< wired as a socket: `in` carries both ways, `out` is not open

  /// Writes what fits. How many bytes; -1 where the child no longer reads.
  [[nodiscard]] ssize_t write(std::string_view bytes);
  enum class Read { some, later, end };
  /// Appends at most 64 KiB to `into`; closes the descriptor at its end.
  static Read read(Descriptor& from, std::string& into);
  /// Exit status (128 + signal where killed) once it has ended.
  [[nodiscard]] std::optional<int> status();
  /// Waits for the end, at most so long. For what ends by itself at once.
  void wait(std::chrono::milliseconds longest);
  /// Descriptors to poll for, `in` only where `writes`.
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
