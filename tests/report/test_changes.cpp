#include "gpuadm/report/changes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using report::Finding;
using report::Verdict;

Finding finding(std::string host, std::string id, std::string message, std::string evidence = {}) {
  Finding made;
  made.host = std::move(host);
  made.id = std::move(id);
  made.message = std::move(message);
  made.evidence = std::move(evidence);
  return made;
}

std::string turns(const std::vector<Finding>& before, const std::vector<Finding>& now) {
  std::string text;
  for (const report::Change& change : report::changes(before, now, base::Time()))
    text += std::string(report::name_of(change.turn)) + " " + change.finding.host + " " +
            change.finding.message + "\n";
  return text;
}

}  // namespace

TEST_CASE("changes: only new, resolved and changed findings are reported") {
  const std::vector<Finding> before = {finding("a", "x", "one"), finding("a", "y", "two"),
                                       finding("b", "x", "one")};
  auto now = before;
  CHECK(turns(before, now).empty());
  now[1].message = "two more";
  now.erase(now.begin());
  now.push_back(finding("", "z", "whole"));
  CHECK(turns(before, now) == "changed a two more\nnew  whole\ngone a one\n");
  CHECK(turns({}, before) == "new a one\nnew a two\nnew b one\n");
}

TEST_CASE("changes: a pass is not a finding, and different numbers are not a change") {
  std::vector<Finding> before = {finding("a", "x", "late", "0.31 s behind")};
  CHECK(turns(before, {finding("a", "x", "late", "0.32 s behind")}).empty());
  CHECK(turns(before, {finding("a", "x", "late", "unknown")}) == "changed a late\n");
  before[0].verdict = Verdict::pass;
  CHECK(turns({}, before).empty());
}

TEST_CASE("changes: several findings of one check on one host are distinguished") {
  const std::vector<Finding> before = {finding("a", "x", "GPU 0"), finding("a", "x", "GPU 1")};
  CHECK(turns(before, {before[0]}) == "gone a GPU 1\n");
}

TEST_CASE("changes: a line has no escape sequence of a host's") {
  report::Change change;
  change.finding = finding("a", "x", "evil \x1b[2J");
  CHECK(report::to_text(change, {}).find('\x1b') == std::string::npos);
}
