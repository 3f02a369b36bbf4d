#include "virtual_clock.hpp"

#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {
constexpr std::chrono::nanoseconds start = std::chrono::hours(1);  // a clock at 0 could mean "never"
std::chrono::nanoseconds now_ns = start;
}  // namespace

namespace scale {

void pass(std::chrono::nanoseconds time) {
  now_ns += time;
}

double seconds_now() {
  return std::chrono::duration<double>(now_ns - start).count();
}

}  // namespace scale

extern "C" int clock_gettime(clockid_t, timespec* into) noexcept {
  const auto whole = std::chrono::floor<std::chrono::seconds>(now_ns);
  into->tv_sec = whole.count();
  into->tv_nsec = (now_ns - whole).count();
  return 0;
}

extern "C" int poll(pollfd*, nfds_t, int milliseconds) {
  if (milliseconds < 0) {
    std::fputs("scale: the fleet waits, and nothing can happen any more\n", stderr);
    std::abort();
  }
  now_ns += std::chrono::milliseconds(milliseconds);
  return 0;
}
