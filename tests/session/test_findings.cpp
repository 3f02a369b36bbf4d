#include "gpuadm/session/findings.hpp"

namespace {

using report::Severity;

std::vector<report::Finding> blockers() {
  return {{.id = "host.cpu.count", .severity = Severity::blocker, .host = "a"},
          {.id = "host.mem.size", .severity = Severity::blocker, .host = "a"}};
}

}  // namespace

TEST_CASE("an ignored finding is still reported, as a warning") {
  auto findings = blockers();
  REQUIRE(session::ignore(findings, std::vector<std::string>{"host.cpu.count"}));
  CHECK(findings.size() == 2);
  CHECK(findings.at(0).severity == Severity::warning);
  CHECK(findings.at(1).severity == Severity::blocker);
}

TEST_CASE("a prefix that ends in a dot means all below it") {
  auto findings = blockers();
  REQUIRE(session::ignore(findings, std::vector<std::string>{"host."}));
  CHECK_FALSE(blocks(findings.at(0)));
  CHECK_FALSE(blocks(findings.at(1)));
}

TEST_CASE("a finding that no check makes cannot be ignored by mistake") {
  auto findings = blockers();
  const auto refused = session::ignore(findings, std::vector<std::string>{"host.cpu.cuont"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().fault == base::Fault::usage);
  CHECK(refused.error().hint.find("host.cpu.count") != std::string::npos);
}
