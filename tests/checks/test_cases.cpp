#include "checks/case_files.hpp"
#include "checks/repository_data.hpp"

#include <algorithm>
#include <set>

namespace {

using namespace case_files;

/// What of an expectation does not hold; empty where all does.
std::string difference(const Tree& expected, const Finding& finding) {
  const auto message = [&](const char* key, std::string_view got, bool whole) {
    const Tree* want = expected.find(key);
    if (!want) return true;
    return whole ? got == want->text() : got.find(want->text()) != std::string_view::npos;
  };
  const bool fits = message("verdict", report::name_of(finding.verdict), true) &&
                    message("severity", report::name_of(finding.severity), true) &&
                    message("message", finding.message, false) &&
                    message("evidence", finding.evidence, false) &&
                    message("remedy", finding.remedy, false) && message("causedBy", finding.caused_by, true);
  return fits ? "" : base::yaml::write(report::to_tree(finding));
}

/// Keys of a map that none of these groups has; an unquoted comma or a missing colon makes a text a key.
std::string unknown_keys(const Tree* map, std::initializer_list<std::set<std::string>> known) {
  std::string unknown;
  for (const auto& [key, value] : map && map->is_map() ? map->entries() : Tree::Map())
    if (std::ranges::none_of(known, [&](const auto& keys) { return keys.contains(key); }))
      unknown += fmt::format("'{}' is not a key of a case\n", key);
  return unknown;
}

const std::set<std::string> edit_keys = {"change", "everywhere", "without", "probe"};
const std::set<std::string> host_keys = {"base", "clockOffset"};
const std::set<std::string> expectation_keys = {"verdict",  "severity", "message",
                                                "evidence", "remedy",   "causedBy"};

/// The keys that tests/cases/checks/README.md does not have.
std::string unknown_keys_of(const Tree& test) {
  std::string unknown = unknown_keys(
      &test,
      {edit_keys, host_keys, {"stage", "kubernetes", "cluster", "settled", "overview", "hosts", "expect"}});
  unknown += unknown_keys(test.find("settled"), {{"runtime", "toolkit", "existing"}});
  unknown += unknown_keys(test.find("overview"), {edit_keys});
  if (const Tree* hosts = test.find("hosts"))
    for (const auto& [name, host] : hosts->entries()) unknown += unknown_keys(&host, {edit_keys, host_keys});
  const Tree& expect = *test.find("expect");
  for (const Tree& one : expect.is_list() ? expect.items() : Tree::List{expect})
    unknown += unknown_keys(&one, {expectation_keys});
  return unknown;
}

/// The keys that tests/cases/cis/README.md does not have.
std::string unknown_keys_of_benchmark(const Tree& test) {
  std::string unknown = unknown_keys(
      &test,
      {edit_keys, host_keys, {"kubernetes", "others", "passes", "fails", "skips", "unknowns", "expect"}});
  for (const auto& [id, one] : test.find("expect")->entries())
    unknown += unknown_keys(&one, {expectation_keys});
  return unknown;
}

/// Ids of the steps in playbooks/.
std::set<std::string> step_ids() {
  std::set<std::string> ids;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(GPUADM_SOURCE_DIR) / "playbooks")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string text = case_text(entry.path());
    for (const std::string_view line : base::lines(text))
      if (line.starts_with("- id: ")) ids.emplace(base::trim(line.substr(6)));
  }
  return ids;
}

/// A remedy of one word is the id of a step.
void check_remedy(const Finding& finding, const std::set<std::string>& steps) {
  const bool sentence = finding.remedy.find(' ') != std::string::npos;
  CHECK_MESSAGE((sentence || steps.contains(finding.remedy)),
                fmt::format("{}: no step {}", finding.id, finding.remedy));
}

void check_expected(const Tree& expect, const std::vector<Finding>& findings) {
  const std::vector<Tree> expected = expect.is_list() ? expect.items() : std::vector<Tree>{expect};
  std::string got;
  for (const Finding& finding : findings) got += base::yaml::write(report::to_tree(finding)) + "\n";
  CHECK_MESSAGE(findings.size() == expected.size(), got);
  for (const Tree& one : expected) {
    std::string differs = "no finding";
    for (const Finding& finding : findings)
      if (differs = difference(one, finding); differs.empty()) break;
    CHECK_MESSAGE(differs.empty(), differs);
  }
}

using VerdictsById = std::map<std::string, std::set<std::string>>;

/// What a case of tests/cases/cis expects of an item: tests/cases/cis/README.md.
std::pair<std::vector<std::string>, Tree> expected_of(const std::string& id, const Tree& test) {
  const Tree* named = test.find("expect") ? test.find("expect")->find(id) : nullptr;
  if (named && !named->is_map()) return {{named->text()}, Tree::map()};
  if (named) return {{named->find("verdict") ? named->find("verdict")->text() : "fail"}, *named};
  for (const char* verdict : {"pass", "fail", "skip", "unknown"}) {
    const Tree* ids = test.find(std::string(verdict) + (verdict == std::string("pass") ? "es" : "s"));
    for (const Tree& pattern : ids ? ids->items() : Tree::List())
      if (id == pattern.text() || (pattern.text().ends_with('.') && id.starts_with(pattern.text())))
        return {{verdict}, Tree::map()};
  }
  std::vector<std::string> others;
  for (const Tree& verdict : test.find("others")->items()) others.push_back(verdict.text());
  return {others, Tree::map()};
}

/// The cases of the CIS Kubernetes Benchmark, each of which is about every item.
void check_benchmark(const checks::Data& data, VerdictsById& verdicts) {
  for (const auto& entry : fs::directory_iterator(folder / "cis")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().string());
    auto test = base::yaml::read(case_text(entry.path()), entry.path().string());
    REQUIRE_MESSAGE(test.has_value(), (test ? "" : test.error().what));
    const std::string unknown = unknown_keys_of_benchmark(*test);
    CHECK_MESSAGE(unknown.empty(), unknown);
    test->set("stage", "security");
    std::set<std::string> ids;
    for (const Finding& finding : judge(*test, probes_of(*test), data, overview_of(*test))) {
      const auto [allowed, expected] = expected_of(finding.id, *test);
      const std::string verdict(report::name_of(finding.verdict));
      const std::string got =
          entry.path().filename().string() + "\n" + base::yaml::write(report::to_tree(finding));
      CHECK_MESSAGE(std::ranges::find(allowed, verdict) != allowed.end(), got);
      CHECK_MESSAGE(difference(expected, finding).empty(), got);
      CHECK_MESSAGE(ids.insert(finding.id).second, got);
      verdicts[finding.id].insert(verdict);
    }
    for (const auto& [id, expected] : test->find("expect")->entries())
      CHECK_MESSAGE(ids.contains(id), fmt::format("{} is not an item", id));
  }
}

}  // namespace

TEST_CASE("every check has cases that pass and cases that do not, and all of them hold") {
  const auto data = checks::read_data(repository_asset, test_day);
  REQUIRE_MESSAGE(data.has_value(), (data ? "" : data.error().what));
  const auto steps = step_ids();
  VerdictsById verdicts;
  check_benchmark(**data, verdicts);
  for (const auto& entry : fs::recursive_directory_iterator(folder / "checks")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string id = entry.path().parent_path().filename();
    CAPTURE(entry.path().string());
    const auto test = base::yaml::read(case_text(entry.path()), entry.path().string());
    REQUIRE_MESSAGE(test.has_value(), (test ? "" : test.error().what));
    REQUIRE(test->find("expect"));
    const std::string unknown = unknown_keys_of(*test);
    CHECK_MESSAGE(unknown.empty(), unknown);
    auto findings = judge(*test, probes_of(*test), **data, overview_of(*test));
    for (const Finding& finding : findings)
      if (finding.verdict == report::Verdict::fail) check_remedy(finding, steps);
    std::erase_if(findings, [&](const Finding& finding) { return finding.id != id; });
    check_expected(*test->find("expect"), findings);
    for (const Finding& finding : findings) verdicts[id].emplace(report::name_of(finding.verdict));
  }
  std::set<std::string> ids;
  for (const checks::About& about : checks::table()) {
    const std::string id(about.id);
    CAPTURE(id);
    CHECK(ids.insert(id).second);
    CHECK(verdicts[id].contains("pass"));
    // What only records, and judges nothing, does not fail.
    const bool records = id == "gpu.fabric.nvswitch-present" || id == "host.virt.type" ||
                         id == "kubeadm.crisocket-ambiguous" || id == "kernel.cmdline.recorded";
    CHECK((verdicts[id].contains("fail") || (records && verdicts[id].size() > 1)));
  }
  for (const auto& [id, seen] : verdicts)
    CHECK_MESSAGE(ids.contains(id), fmt::format("{} is not a check", id));
}
