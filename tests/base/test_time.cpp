#include "gpuadm/base/time.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

TEST_CASE("times of RFC 3339 are read with their fraction and their offset") {
  CHECK(base::parse_time("1970-01-01T00:01:40.500Z") == 100.5);
  CHECK(base::parse_time("2026-11-26T15:00:00Z") == 1795705200);
  CHECK(base::parse_time("2026-11-26T15:00:00.000000Z") == 1795705200);
  CHECK(base::parse_time("2026-11-26T17:00:00+02:00") == 1795705200);
  CHECK(base::parse_time("2026-11-26T09:30:00-05:30") == 1795705200);
  CHECK(base::parse_time("2026-11-26T15:00:00-00:00") == 1795705200);
  CHECK(base::parse_time("2016-12-31T23:59:60Z") == base::parse_time("2017-01-01T00:00:00Z"));
  CHECK(base::parse_time("2024-02-29T00:00:00Z"));
  CHECK(base::parse_time("9999-12-31T23:59:59Z") == 253402300799.0);
  CHECK(base::parse_time(base::iso8601(base::Time(std::chrono::milliseconds(1795705200123)))) ==
        doctest::Approx(1795705200.123));
}

TEST_CASE("a text that is not a time of RFC 3339 is not read") {
  for (const char* text : {"",
                           "2026-11-26",
                           "2026-11-26T15:00Z",
                           "2026-11-26T15:00:00",
                           "2026-11-26 15:00:00Z",
                           "2026-11-26T15:00:00+",
                           "2026-11-26T15:00:00+02",
                           "2026-11-26T15:00:00+0200",
                           "2026-11-26T15:00:00+24:00",
                           "2026-11-26T15:00:00+02:60",
                           "2026-11-26T15:00:00.Z",
                           "2026-11-26T15:00:00ZZ",
                           "2026-11-26T15:00:00Z ",
                           " 2026-11-26T15:00:00Z",
                           "2026-11-26T99:00:00Z",
                           "2026-11-26T24:00:00Z",
                           "2026-11-26T15:60:00Z",
                           "2026-11-26T15:00:61Z",
                           "2026-11-26T15:00:-1Z",
                           "2026-11-26T+5:00:00Z",
                           "2026-13-26T15:00:00Z",
                           "2026-00-26T15:00:00Z",
                           "2026-02-29T15:00:00Z",
                           "2026-11-2xT15:00:00Z",
                           "+026-11-26T15:00:00Z",
                           "2026/11/26T15:00:00Z",
                           "2026-11-26T15.00.00Z",
                           "12026-11-26T15:00:00Z",
                           "yesterday, or so......."}) {
    CAPTURE(text);
    CHECK_FALSE(base::parse_time(text));
  }
}

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
