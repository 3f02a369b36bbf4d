#include "gpuadm/base/interrupt.hpp"

#include <doctest/doctest.h>

#include <poll.h>

#include <csignal>

namespace {

bool is_readable(const base::Interrupt& interrupt) {
  pollfd fd{interrupt.descriptor(), POLLIN, 0};
  return ::poll(&fd, 1, 0) == 1;
}

}  // namespace

TEST_CASE("after a connection within another one, Ctrl-C is still a signal of the outer one") {
  base::Interrupt outer;
  {
    const base::Interrupt inner;
  }
  CHECK(outer.count() == 0);
  (void)std::raise(SIGINT);  // by default it ends the program
  CHECK(is_readable(outer));
  CHECK(outer.count() == 1);
}

TEST_CASE("Ctrl-C during an inner connection also ends the outer one") {
  base::Interrupt outer;
  {
    base::Interrupt inner;
    (void)std::raise(SIGINT);
    CHECK(inner.count() == 1);
  }
  CHECK(is_readable(outer));
  CHECK(outer.count() == 1);
}

TEST_CASE("a signal of an earlier connection does not interrupt the next one") {
  {
    base::Interrupt earlier;
    (void)std::raise(SIGTERM);
    CHECK(earlier.count() == 1);
  }
  base::Interrupt next;
  CHECK(!is_readable(next));
  CHECK(next.count() == 0);
}
