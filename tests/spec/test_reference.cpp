#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

std::string cell(const std::string& text) {
  return base::replace_all(text, "|", "\\|");
}

}  // namespace

TEST_CASE("docs/reference/cluster-file.md ends with the table of every key") {
  std::string table = "|---|---|---|---|\n";
  for (const auto& [path, type, fallback, message] : spec::keys())
    table += fmt::format("| `{}` | {} | {} | {} |\n", path, cell(type), cell(fallback), cell(message));
  const auto page = base::read_file(GPUADM_SOURCE_DIR "/docs/reference/cluster-file.md");
  REQUIRE(page);
  CHECK_MESSAGE(page->ends_with(table), "the table should be:\n" << table);
}

TEST_CASE("the example of docs/reference/cluster-file.md is a cluster file") {
  const auto page = base::read_file(GPUADM_SOURCE_DIR "/docs/reference/cluster-file.md");
  REQUIRE(page);
  const std::size_t start = page->find("```yaml\n") + 8;
  const auto cluster = spec::parse(page->substr(start, page->find("```", start) - start), "example");
  CHECK_MESSAGE(cluster, (cluster ? "" : cluster.error().what));
}
