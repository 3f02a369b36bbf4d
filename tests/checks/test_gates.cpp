#include "gpuadm/base/files.hpp"
#include "gpuadm/report/finding.hpp"

#include "checks/csv.hpp"
#include "checks/lint.hpp"
#include "checks/repository_data.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

namespace {

using base::Version;

constexpr int newest = 40;

/// "", "note", "warning" or "blocker", and what is said.
std::pair<std::string, std::string> lint(const std::string& gate, bool value, int minor,
                                         const checks::Data& data) {
  const auto problems = checks::lint_gates({{gate, value}}, {1, minor, -1}, data);
  if (problems.empty()) return {};
  CHECK(problems.size() == 1);
  CHECK(!problems.front().remedy.empty());
  return {std::string(report::name_of(problems.front().severity)), problems.front().message};
}

/// What a gate is in a minor, from its row alone.
std::pair<std::string, std::string> expected(const checks::Gate& gate, bool value, int minor) {
  const Version kubernetes{1, minor, -1};
  const auto since = [&](const std::optional<Version>& when) { return when && *when <= kubernetes; };
  if (gate.first() && !since(gate.first())) return {"blocker", "needs Kubernetes"};
  if (since(gate.removed)) return {"blocker", "was removed in Kubernetes"};
  const bool usual = since(gate.on);
  if (value == usual) return {"note", usual ? "is on in Kubernetes" : "is off in Kubernetes"};
  if (since(gate.locked)) return {"blocker", "can no longer be set to"};
  if (since(gate.deprecated)) return {"warning", "is deprecated since"};
  return {};
}

int minor_of(const std::string& version) {
  return Version::parse(version).value().minor;
}

}  // namespace

// tests/cases/lint/gates.csv: what is known of gates that matter to GPUs, written down apart from
// data/feature-gates.csv.
TEST_CASE("gates: what is said of each in each minor is what its history asks for") {
  const auto data = repository_data();
  const auto text = base::read_file(GPUADM_TESTS_DIR "/cases/lint/gates.csv");
  REQUIRE(text);
  const auto rows = checks::read_csv(*text, {"gate", "from", "to", "when_true", "when_false"},
                                     "tests/cases/lint/gates.csv");
  REQUIRE_MESSAGE(rows, (rows ? "" : rows.error().what));
  REQUIRE(rows->size() > 50);
  for (const auto& row : *rows)
    for (int minor = minor_of(row[1]); minor <= minor_of(row[2]); ++minor) {
      CAPTURE(row[0]);
      CAPTURE(minor);
      CHECK(lint(row[0], true, minor, *data).first == row[3]);
      CHECK(lint(row[0], false, minor, *data).first == row[4]);
    }
}

TEST_CASE("gates: every gate that is known is judged in every minor from 1.3 on") {
  const auto data = repository_data();
  CHECK(data->gates.size() > 400);
  for (const auto& [name, gate] : data->gates)
    for (int minor = 3; minor <= newest; ++minor)
      for (const bool value : {true, false}) {
        CAPTURE(name);
        CAPTURE(minor);
        CAPTURE(value);
        const auto [severity, message] = lint(name, value, minor, *data);
        const auto [wanted, part] = expected(gate, value, minor);
        CHECK(severity == wanted);
        CHECK_MESSAGE(message.find(part) != std::string::npos, message);
      }
}

TEST_CASE("gates: the names for all gates of a stage are known") {
  const auto data = repository_data();
  for (const char* name : {"AllAlpha", "AllBeta"})
    for (const bool value : {true, false}) CHECK(lint(name, value, 33, *data).first.empty());
}

TEST_CASE("gates: the history of each is possible") {
  const auto data = repository_data();
  for (const auto& [name, gate] : data->gates) {
    CAPTURE(name);
    REQUIRE(gate.first().has_value());
    std::optional<Version> before;
    for (const auto& stage : {gate.alpha, gate.beta, gate.stable}) {
      if (!stage) continue;
      CHECK((!before || *before <= *stage));
      before = stage;
    }
    for (const auto& when : {gate.on, gate.locked, gate.deprecated, gate.removed})
      CHECK((!when || *gate.first() <= *when));
    for (const auto& when : {gate.alpha, gate.beta, gate.stable, gate.on, gate.locked, gate.deprecated})
      CHECK((!when || !gate.removed || *when < *gate.removed));
    if (gate.stable && gate.on) CHECK(*gate.on <= *gate.stable);
  }
}
