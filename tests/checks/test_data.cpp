#include "gpuadm/base/text.hpp"

#include "checks/csv.hpp"
#include "checks/data.hpp"
#include "checks/repository_data.hpp"

#include <doctest/doctest.h>

#include <utility>

using checks::read_csv;

TEST_CASE("CSV cells may be quoted, with commas and quotes inside") {
  const auto rows = read_csv("a,b\n1,\"x, \"\"y\"\"\"\n,\n", {"a", "b"}, "f.csv");
  REQUIRE(rows);
  CHECK(rows->at(0) == std::vector<std::string>{"1", "x, \"y\""});
  CHECK(rows->at(1) == std::vector<std::string>{"", ""});
}

TEST_CASE("CSV that is not what it should be is refused with file and line") {
  const auto error = [](std::string_view text) { return read_csv(text, {"a", "b"}, "f.csv").error().what; };
  CHECK(error("") == "f.csv: the file is empty");
  CHECK(error("a,c\n1,2\n") == "f.csv:1: the header must be a,b");
  CHECK(error("a,b\n1,2\n1,2,3\n") == "f.csv:3: 3 columns where the header has 2");
  CHECK(error("a,b\n1,\"2\n") == "f.csv:2: an unbalanced quote");
  CHECK(error("a,b\n1,2\"3\"\n") == "f.csv:2: an unbalanced quote");
}

TEST_CASE("the static facts of the repository are read") {
  const auto data = repository_data();
  const auto* h200 = data->find_gpu("2335", "10de:18be");
  REQUIRE(h200);
  CHECK(h200->name == "NVIDIA H200");
  CHECK(h200->architecture == "Hopper");
  CHECK(!h200->last_branch);
  CHECK(data->find_gpu("2335", "1234:5678")->name ==
        "NVIDIA H200 SXM 141GB");  // an unknown subsystem: the device's row
  CHECK(data->find_gpu("ffff", "") == nullptr);
  CHECK(!data->branches.at(470).is_maintained(data->today));
  CHECK(data->branches.at(580).is_maintained(data->today));
  CHECK(data->cuda_majors.back().major == 13);
  CHECK(data->gates.size() > 400);
  CHECK(checks::newest_complete(data->minors) == base::Version{1, 36, -1});
  CHECK(data->minors.rbegin()->first == base::Version{1, 37, -1});
  for (const auto& [minor, lag] : {std::pair{19, 2}, {20, 2}, {27, 2}, {28, 3}, {37, 3}, {99, 3}})
    CHECK(checks::kubelet_lag(data->minors, {1, minor, 5}) == lag);
  CHECK(data->pause_images.size() > 5);
}

TEST_CASE("a data file that an operator has spoilt is named") {
  const auto data = checks::read_data([](std::string_view path) -> base::Result<std::string> {
    if (path == "data/feature-gates.csv")
      return "gate,alpha,beta,stable,deprecated,on,locked,removed,source,seen\nX,soon,,,,,,,a,b\n";
    return base::read_file(std::filesystem::path(GPUADM_SOURCE_DIR) / path);
  });
  REQUIRE(!data);
  CHECK(data.error().what == "data/feature-gates.csv: X: 'soon' is not a version");
}

TEST_CASE("Xids and SXids are distinguished by severity, and each has a remedy") {
  const auto data = repository_data();
  CHECK(data->xids.at(79).severity == "error");
  CHECK(data->xids.at(31).severity == "warn");
  CHECK(data->sxids.at(10003).severity == "error");
  for (const auto& [code, kind] : data->xids) {
    CAPTURE(code);
    CHECK((kind.severity == "error" || kind.severity == "warn" || kind.severity == "info"));
    CHECK(!kind.action.empty());
  }
}
