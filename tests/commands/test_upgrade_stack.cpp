#include "gpuadm/plan/plan.hpp"

#include "commands/install/upgrade_stack.hpp"

#include <doctest/doctest.h>

#include <algorithm>

TEST_CASE("upgrade: what a host says of its packages is read, and nothing else is") {
  const auto parts = commands::read_parts(
      "runtime containerd 1.6.20~ds1-1+deb12u3 1.7.24~ds1-6 yes\n"
      "driver nvidia-open - 1:580.95.05-1 no\n");
  REQUIRE(parts);
  REQUIRE(parts->size() == 2);
  CHECK((*parts)[0].package == "containerd");
  CHECK((*parts)[0].newest == "1.7.24~ds1-6");
  CHECK((*parts)[0].work);
  CHECK((*parts)[1].installed == "-");
  CHECK(!(*parts)[1].work);
  CHECK(commands::read_parts("")->empty());
  for (const char* bad : {"runtime containerd 1 2", "runtime containerd 1 2 maybe", "a b c d yes e",
                          "runtime x;reboot 1 2 yes", "runtime 'x' 1 2 yes"})
    CHECK(!commands::read_parts(bad));
}
