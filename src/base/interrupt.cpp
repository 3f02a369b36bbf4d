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
  outer_ = writer.load();
  if (outer_ < 0) signals = 0;
  writer = pipe_[1];
  if (outer_ >= 0) return;
  struct sigaction action{};
  action.sa_handler = on_signal;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

Interrupt::~Interrupt() {
  if (pipe_[0] < 0) return;
  if (outer_ < 0) {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
  }
  writer = outer_;
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = outer_ >= 0 && signals > 0 ? ::write(outer_, &byte, 1) : 0;
  for (int fd : pipe_) ::close(fd);
}

int Interrupt::count() {
  char sink[64];
  while (::read(pipe_[0], sink, sizeof sink) > 0) {
  }
  return signals;
}

}  // namespace base
