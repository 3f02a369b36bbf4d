#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/checks/checks.hpp"
#include "gpuadm/facts/edit.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

// A case is tests/cases/checks/<id of the check>/<what it shows>.yaml; docs/contributing.md says what may
// stand in it.

namespace {

namespace fs = std::filesystem;
using base::Tree;
using report::Finding;

const fs::path cases = GPUADM_TESTS_DIR "/cases";

std::string read(const fs::path& path) {
  const auto text = base::read_file(path);
  REQUIRE_MESSAGE(text.has_value(), path.string());
  return *text;
}

std::string edit(const std::string& probe, const Tree& edits) {
  auto text = facts::edited(probe, edits);
  REQUIRE_MESSAGE(text.has_value(), (text ? "" : text.error().what));
  return *text;
}

facts::Facts facts_of(const Tree& host) {
  const Tree* base = host.find("base");
  const std::string name = base ? base->text() : "plain";
  const fs::path capture = cases / "facts" / name / "probe.txt";
  const std::string text =
      edit(read(fs::exists(capture) ? capture : cases / "checks/base" / (name + ".txt")), host);
  auto facts = facts::parse(text);
  REQUIRE(facts.has_value());
  if (const Tree* offset = host.find("clockOffset")) facts->clock_offset = offset->as_real();
  return *facts;
}

spec::Supply supply_named(const Tree* name) {
  using enum spec::Supply;
  const std::map<std::string, spec::Supply> all = {
      {"repositories", repositories}, {"bundle", bundle}, {"skipped", skipped}, {"none", none}};
  return name ? all.at(name->text()) : open;
}

/// The cluster of a case: Kubernetes 1.33 on the hosts of the case, with its `cluster` laid over.
spec::Cluster cluster_of(const Tree& test, const std::vector<std::string>& hosts) {
  Tree file = Tree::map_of({{"apiVersion", "gpuadm/v1alpha1"}, {"kind", "GpuCluster"}});
  file.set("kubernetes", Tree::map_of({{"version", "1.33"}}));
  Tree list = Tree::list();
  for (const std::string& name : hosts) {
    const std::string address = fmt::format("192.0.2.{}", 11 + list.items().size());
    list.push(Tree::map_of({{"name", name}, {"address", address}}));
  }
  file.set("hosts", list);
  if (const Tree* over = test.find("cluster")) file.merge(*over);
  auto cluster = spec::parse(base::yaml::write(file), "cluster.yaml");
  REQUIRE_MESSAGE(cluster.has_value(), (cluster ? "" : cluster.error().what));
  if (const Tree* settled = test.find("settled")) {
    for (spec::Host& host : cluster->hosts) {
      host.runtime_supply = supply_named(settled->find("runtime"));
      host.toolkit_supply = supply_named(settled->find("toolkit"));
    }
    cluster->may_exist = settled->find("existing") != nullptr;
  }
  if (const Tree* version = test.find("kubernetes"))
    cluster->kubernetes.version = base::Version::parse(version->text());  // "none": as if nothing were known
  return *cluster;
}

std::vector<Finding> examine(const Tree& test, const checks::Data& data) {
  facts::Census census;
  if (const Tree* hosts = test.find("hosts")) {
    for (const auto& [name, host] : hosts->entries()) census.emplace(name, facts_of(host));
  } else {
    census.emplace("one", facts_of(test));
  }
  std::vector<std::string> names;
  for (const auto& [name, facts] : census) names.push_back(name);
  const Tree* stage = test.find("stage");
  if (stage && stage->text() == "cluster") {
    const Tree* overview = test.find("overview");
    const auto facts =
        facts::parse_cluster(edit(read(cases / "checks/base/cluster.txt"), overview ? *overview : Tree()));
    REQUIRE(facts.has_value());
    return checks::examine_cluster(cluster_of(test, names), census, *facts, data);
  }
  return checks::examine(cluster_of(test, names), census, data,
                         stage && stage->text() == "node" ? checks::Stage::node : checks::Stage::preflight);
}

/// What of an expectation does not hold; empty where all does.
std::string difference(const Tree& expected, const Finding& finding) {
  const auto says = [&](const char* key, std::string_view got, bool whole) {
    const Tree* want = expected.find(key);
    if (!want) return true;
    return whole ? got == want->text() : got.find(want->text()) != std::string_view::npos;
  };
  const bool fits = says("verdict", report::name_of(finding.verdict), true) &&
                    says("severity", report::name_of(finding.severity), true) &&
                    says("says", finding.says, false) && says("evidence", finding.evidence, false) &&
                    says("remedy", finding.remedy, false) && says("causedBy", finding.caused_by, true);
  return fits ? "" : base::yaml::write(report::to_tree(finding));
}

/// Ids of the steps in playbooks/.
std::set<std::string> step_ids() {
  std::set<std::string> ids;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(GPUADM_SOURCE_DIR) / "playbooks")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string text = read(entry.path());
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

}  // namespace

TEST_CASE("every check has cases that pass and cases that do not, and all of them hold") {
  const auto data = checks::read_data(
      [](std::string_view path) { return base::read_file(fs::path(GPUADM_SOURCE_DIR) / path); });
  REQUIRE_MESSAGE(data.has_value(), (data ? "" : data.error().what));
  const auto steps = step_ids();
  std::map<std::string, std::set<std::string>> verdicts;
  for (const auto& entry : fs::recursive_directory_iterator(cases / "checks")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string id = entry.path().parent_path().filename();
    CAPTURE(entry.path().string());
    const auto test = base::yaml::read(read(entry.path()), entry.path().string());
    REQUIRE_MESSAGE(test.has_value(), (test ? "" : test.error().what));
    REQUIRE(test->find("expect"));
    auto findings = examine(*test, **data);
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
    const bool records = id == "gpu.pci.present" || id == "gpu.fabric.nvswitch-present" ||
                         id == "host.virt.type" || id == "kubeadm.crisocket-ambiguous" ||
                         id == "kernel.cmdline.recorded";
    CHECK((verdicts[id].contains("fail") || (records && verdicts[id].size() > 1)));
  }
  for (const auto& [id, seen] : verdicts) CHECK_MESSAGE(ids.contains(id), fmt::format("{} is no check", id));
}
