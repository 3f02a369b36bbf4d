#include "gpuadm/workload/train_check.hpp"

#include "checks/catalogue.hpp"
#include "checks/data.hpp"
#include "checks/repository_data.hpp"

#include <doctest/doctest.h>

namespace {

using report::Finding;
using report::Verdict;

base::Result<checks::Catalogue> read(const std::string& gpu) {
  return checks::read_catalogue([&](std::string_view path) -> base::Result<std::string> {
    return path == "data/checks/gpu.yaml" ? gpu : std::string("{}");
  });
}

std::vector<Finding> findings(std::initializer_list<std::pair<const char*, Verdict>> list) {
  std::vector<Finding> all;
  for (const auto& [id, verdict] : list) {
    Finding finding;
    finding.id = id;
    finding.verdict = verdict;
    all.push_back(finding);
  }
  return all;
}

}  // namespace

TEST_CASE("catalogue: every check has an article, and every article a check") {
  std::map<std::string, int> seen;
  for (const checks::About& about : checks::table()) ++seen[std::string(about.id)];
  for (const workload::TrainCheckRow& row : workload::train_checks()) ++seen[std::string(row.id)];
  const auto data = repository_data();
  for (const auto& [id, article] : data->catalogue) --seen[id];
  for (const auto& [id, count] : seen) CHECK_MESSAGE((count == 0 || id == "host.ssh.reachable"), id);
}

TEST_CASE("catalogue: the nearest cause that failed explains, past unknown ones") {
  const auto catalogue = read("gpu.a: { causedBy: [gpu.b] }\ngpu.b: { causedBy: [gpu.c] }\ngpu.c: {}\n");
  REQUIRE(catalogue);
  const auto cause = [&](Verdict b, Verdict c) {
    return checks::cause_of("gpu.a", findings({{"gpu.a", Verdict::fail}, {"gpu.b", b}, {"gpu.c", c}}),
                            *catalogue);
  };
  CHECK(cause(Verdict::fail, Verdict::fail) == "gpu.b");
  CHECK(cause(Verdict::unknown, Verdict::fail) == "gpu.c");
  CHECK(cause(Verdict::skip, Verdict::fail) == "gpu.c");
  CHECK(cause(Verdict::pass, Verdict::fail) == "");
  CHECK(cause(Verdict::pass, Verdict::pass) == "");
}

TEST_CASE("catalogue: what cannot be is named") {
  const auto message = [](const std::string& text, const char* words) {
    const auto catalogue = read(text);
    REQUIRE_FALSE(catalogue);
    CHECK_MESSAGE(catalogue.error().what.find(words) != std::string::npos, catalogue.error().what);
  };
  message("gpu.a: { causedBy: [gpu.b] }\ngpu.b: { causedBy: [gpu.a] }\n", "is its own cause");
  message("gpu.a: { causedBy: [gpu.x] }\n", "no check is called gpu.x");
  message("host.a: {}\n", "begin with 'gpu.'");
  message("gpu.a: { sympton: x }\n", "'sympton' is not a key");
  message("gpu.a: { source: [] }\n", "source names none");
  message("gpu.a: { source: the manual }\n", "'the manual' is not an https address");
  message("gpu.a: { source: \"http://docs.nvidia.com/\" }\n", "is not an https address");
  message("gpu.a: { source: [\"https://docs.nvidia.com/deploy\", \"https://localhost/\"] }\n",
          "'https://localhost/' is not an https address");
}

TEST_CASE("catalogue: a source is one address or several") {
  const auto catalogue = read(
      "gpu.a: { source: \"https://docs.kernel.org/x\" }\n"
      "gpu.b: { source: [\"https://docs.kernel.org/x\", \"https://kubernetes.io/y\"] }\n");
  REQUIRE(catalogue);
  CHECK(catalogue->at("gpu.a").sources == std::vector<std::string>{"https://docs.kernel.org/x"});
  CHECK(catalogue->at("gpu.b").sources.size() == 2);
}
