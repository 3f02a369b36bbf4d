#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/facts/facts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> machines() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(GPUADM_TESTS_DIR "/cases/facts"))
    if (entry.is_directory()) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string read(const fs::path& path) {
  const auto text = base::read_file(path);
  REQUIRE_MESSAGE(text.has_value(), path.string());
  return *text;
}

}  // namespace

TEST_CASE("what the probe printed on a machine gives the facts that are filed beside it") {
  REQUIRE(machines().size() >= 3);
  for (const fs::path& machine : machines()) {
    CAPTURE(machine.filename().string());
    const auto facts = facts::parse(read(machine / "probe.txt"));
    REQUIRE(facts.has_value());
    const std::string got = base::json::write(facts::to_tree(*facts)) + "\n";
    if (std::getenv("GPUADM_REWRITE_CASES")) REQUIRE(base::write_file(machine / "facts.json", got, 0644));
    CHECK(got == read(machine / "facts.json"));
  }
}
