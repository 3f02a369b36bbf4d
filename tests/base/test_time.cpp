#include "gpuadm/base/time.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

TEST_CASE("a day is written as in ISO 8601, and a month means its last day") {
  CHECK(base::day_text(base::parse_day("2026-11-29").value()) == "2026-11-29");
  CHECK(base::day_text(base::parse_day("2028-02").value()) == "2028-02-29");
  for (const char* text :
       {"", "2026", "2026-11-31", "2026-13-01", "2026-13", "2026/11/29", "2026-11-2", "x026-11-29"}) {
    CAPTURE(text);
    CHECK(!base::parse_day(text));
  }
}

TEST_CASE("tests are given their day, and the program without one uses the clock") {
  CHECK(base::day_text(base::today()) == "2026-11-29");
  ::setenv("GPUADM_TODAY", "2031-01-02", 1);
  CHECK(base::day_text(base::today()) == "2031-01-02");
  ::unsetenv("GPUADM_TODAY");
  CHECK(base::today() == std::chrono::floor<std::chrono::days>(base::now()));
  ::setenv("GPUADM_TODAY", "2026-11-29", 1);
}
