#include "gpuadm/workload/pod_log.hpp"

#include <doctest/doctest.h>

namespace {

using workload::PodLog;
using Lines = std::vector<std::string>;
constexpr auto runs = PodLog::Writer::runs, ended = PodLog::Writer::ended;

std::string at(const std::string& second, const std::string& text) {
  return "2026-11-26T12:00:" + second + ".000000001Z " + text + "\n";
}

}  // namespace

TEST_CASE("lines of the last second are read twice and returned once") {
  PodLog log;
  CHECK(log.since().empty());
  CHECK(log.take(at("01", "a") + at("02", "b"), runs) == Lines{"a", "b"});
  CHECK(log.since() == "2026-11-26T12:00:02Z");
  CHECK(log.take(at("02", "b"), runs).empty());
  CHECK(log.take(at("02", "b") + at("02", "b") + at("03", "c"), runs) == Lines{"b", "c"});
  CHECK(log.since() == "2026-11-26T12:00:03Z");
  CHECK(log.take("", runs).empty());
  CHECK(log.take(at("03", "c") + at("03", "d"), ended) == Lines{"d"});
}

TEST_CASE("a line without an end is left for the next answer, unless the container has ended") {
  PodLog log;
  std::string open = at("01", "a");
  open.pop_back();
  CHECK(log.take(open, runs).empty());
  CHECK(log.take(open, ended) == Lines{"a"});
  PodLog limited;
  CHECK(limited.take(at("01", "a") + "2026-11-26T12:0", ended, PodLog::End::cut) == Lines{"a"});
}

TEST_CASE("a log that was rotated continues after the last line") {
  PodLog log;
  CHECK(log.take(at("01", "a") + at("02", "b") + at("02", "c"), runs) == Lines{"a", "b", "c"});
  CHECK(log.take(at("04", "d"), runs) == Lines{"d"});
}

TEST_CASE("an answer that is limited before the last known line repeats none") {
  PodLog log;
  const std::string two = at("01", "a") + at("01", "b"), three = two + at("01", "c");
  CHECK(log.take(three, runs, PodLog::End::cut) == Lines{"a", "b", "c"});
  CHECK(log.take(two, runs, PodLog::End::cut).empty());
  CHECK(log.take(three + at("01", "d"), runs) == Lines{"d"});
}
