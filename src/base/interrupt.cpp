#include "gpuadm/base/interrupt.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace base {

namespace {
// A signal handler can only access a global.
std::atomic<int> signals{0};
std::atomic<int> writer{-1};

void on_signal(int) {
  signals.fetch_add(1);
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = ::write(writer.load(), &byte, 1);
}
}  // namespace

Interrupt::Interrupt() {
  if (::pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0) return;
  signals = 0;
  writer = pipe_[1];
  struct sigaction action{};
  action.sa_handler = on_signal;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  writer = -1;
  for (int fd : pipe_)
    if (fd >= 0) ::close(fd);
}

int Interrupt::count() {
  char sink[64];
  while (::read(pipe_[0], sink, sizeof sink) > 0) {
  }
  return signals;
}

}  // namespace base
