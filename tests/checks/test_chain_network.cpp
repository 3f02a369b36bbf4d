#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/checks/chain.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

// A case is tests/cases/network/<what it shows>.yaml; the README next to them describes the format.

namespace {

using base::Tree;

void check(const Tree& expect, const report::Finding& finding) {
  CHECK_MESSAGE(report::name_of(finding.verdict) == expect.find("verdict")->text(),
                fmt::format("{}: {}", finding.message, finding.evidence));
  const std::pair<const char*, const base::SharedText*> texts[] = {
      {"message", &finding.message}, {"evidence", &finding.evidence}, {"remedy", &finding.remedy}};
  for (const auto& [key, got] : texts)
    if (const Tree* want = expect.find(key))
      CHECK_MESSAGE(got->find(want->text()) != std::string::npos, fmt::format("{}: {}", key, *got));
}

}  // namespace

TEST_CASE("what pods reach is judged as the cases say") {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(GPUADM_TESTS_DIR) / "cases/network")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().string());
    const auto test = base::yaml::read(*base::read_file(entry.path()), entry.path().string());
    REQUIRE_MESSAGE(test.has_value(), (test ? "" : test.error().what));
    std::string output;
    for (const Tree& row : test->find("rows")->items())
      output += base::replace_all(row.text(), ";", "\t") + "\n";
    const facts::NetworkProof proof = facts::parse_network_proof(output);
    CHECK(proof.complete);
    std::vector<facts::PodRoutes> routes;
    if (const Tree* nodes = test->find("routes"))
      for (const auto& [node, lines] : nodes->entries()) {
        std::string text = "node\t" + node + "\n";
        for (const Tree& line : lines.items()) text += "route\t" + line.text() + "\n";
        routes.push_back(facts::parse_pod_routes(text));
      }
    for (const auto& [link, nodes] : test->find("expect")->entries())
      for (const auto& [node, expect] : nodes.entries())
        check(expect, checks::examine_network(*checks::link_named(link), {.host = node, .node = node},
                                              {proof, routes}));
  }
}

TEST_CASE("an output of the network test that was cut off is incomplete") {
  CHECK(!facts::parse_network_proof("node\ta\t10.0.0.1\t\tTrue\t\n").complete);
  CHECK(!facts::parse_network_proof("").complete);
}
