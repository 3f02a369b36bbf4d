#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace {

std::vector<std::filesystem::path> cases() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(GPUADM_TESTS_DIR "/cases/spec"))
    found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

std::string text_of(const std::filesystem::path& path) {
  const auto text = base::read_file(path);
  REQUIRE_MESSAGE(text, path.string());
  return *text;
}

}  // namespace

TEST_CASE("a cluster file is completed, or every problem in it is named with its place") {
  REQUIRE(cases().size() > 10);
  const bool rewrite = std::getenv("GPUADM_REWRITE_CASES") != nullptr;
  for (const auto& folder : cases()) {
    CAPTURE(folder.filename().string());
    const auto cluster = spec::parse(text_of(folder / "cluster.yaml"), "cluster.yaml");
    if (std::filesystem::exists(folder / "errors.txt")) {
      CHECK_FALSE(cluster);
      if (cluster) continue;
      if (rewrite) REQUIRE(base::write_file(folder / "errors.txt", cluster.error().what + "\n", 0644));
      CHECK(cluster.error().fault == base::Fault::spec);
      CHECK(cluster.error().what + "\n" == text_of(folder / "errors.txt"));
      continue;
    }
    CHECK_MESSAGE(cluster, (cluster ? "" : cluster.error().what));
    if (!cluster) continue;
    const base::Tree tree = spec::to_tree(*cluster);
    if (rewrite) REQUIRE(base::write_file(folder / "cluster.json", base::json::write(tree) + "\n", 0644));
    const auto wanted = base::json::read(text_of(folder / "cluster.json"), "cluster.json");
    REQUIRE_MESSAGE(wanted, wanted.error().what);
    CHECK_MESSAGE(tree == *wanted, base::json::write(tree));

    const auto again = spec::parse(base::yaml::write(tree), "again");
    REQUIRE_MESSAGE(again, again.error().what);
    CHECK(spec::to_tree(*again) == tree);
  }
}
