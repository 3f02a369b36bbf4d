#include "commands/workloads/notebook/first_storage.hpp"

#include <doctest/doctest.h>

namespace {

constexpr unsigned long long gib = 1ULL << 30, kib_of_gib = 1ULL << 20;

facts::Facts host_with(unsigned long long free_gib, bool gpu) {
  facts::Facts facts;
  facts.storage.disks = {{"/", "ext4", 0, free_gib * kib_of_gib, 0, 0}};
  if (gpu) facts.nvidia.gpus.resize(1);
  return facts;
}

}  // namespace

TEST_CASE("the first storage is on the host with the most free space, with a GPU if the notebook has one") {
  facts::Census census;
  census.emplace("cpu", host_with(500, false));
  census.emplace("gpu1", host_with(100, true));
  census.emplace("gpu2", host_with(200, true));
  census.emplace("gpu3", base::fail(base::Fault::unreachable, "gpu3: no route to host"));
  const auto with_gpu = commands::place_first_storage(census, true, 10 * gib);
  REQUIRE(with_gpu);
  CHECK(with_gpu->host == "gpu2");
  CHECK(with_gpu->free == 200 * gib);
  const auto without = commands::place_first_storage(census, false, 10 * gib);
  REQUIRE(without);
  CHECK(without->host == "cpu");
}

TEST_CASE(
    "a volume that fits on no host is refused with what each has, and unknown free space does not count") {
  facts::Census census;
  census.emplace("gpu1", host_with(100, true));
  census.emplace("gpu2", facts::Facts());
  census.at("gpu2")->nvidia.gpus.resize(1);
  const auto place = commands::place_first_storage(census, true, 101 * gib);
  REQUIRE(!place);
  CHECK(place.error().fault == base::Fault::blocked);
  CHECK(place.error().what.find("gpu1: 100") != std::string::npos);
  CHECK(place.error().what.find("gpu2: unknown") != std::string::npos);
}
