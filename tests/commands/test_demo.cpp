#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/session/findings.hpp"

#include "commands/inspect/demo.hpp"
#include "sanitizers.hpp"

#include <algorithm>
#include <set>

namespace {

using Ids = std::set<std::string>;

std::string line_of(const Ids& ids) {
  return base::join(std::vector<std::string>(ids.begin(), ids.end()), " ");
}

assets::Store shipped() {
  auto store = assets::Store::open({});
  REQUIRE(store.has_value());
  return *store;
}

std::vector<commands::Demo> every_demo(const assets::Store& assets) {
  auto all = commands::demos(assets);
  REQUIRE_MESSAGE(all.has_value(), (all ? "" : all.error().what));
  return *all;
}

std::vector<report::Finding> judged(const commands::Demo& demo, const assets::Store& assets) {
  const auto recording = commands::recording_of(demo, assets);
  REQUIRE_MESSAGE(recording.has_value(), (recording ? "" : recording.error().what));
  auto findings = session::find(recording->cluster, {}, recording->survey.census, assets, demo.stage);
  REQUIRE_MESSAGE(findings.has_value(), (findings ? "" : findings.error().what));
  return *findings;
}

}  // namespace

TEST_CASE("a report on an injected fault begins with it, and folds what follows") {
  const assets::Store assets = shipped();
  std::size_t count = 0;
  for (const commands::Demo& demo : every_demo(assets)) {
    if (++count % sample_step(4) != 0) continue;
    CAPTURE(demo.name);
    const auto findings = judged(demo, assets);
    const auto first = report::first_broken(findings);
    REQUIRE(first);
    CHECK(first->first->id == demo.leads);
    Ids follow, beside;
    for (const report::Finding* finding : first->follow) follow.insert(finding->id);
    for (const report::Finding& finding : findings)
      if (is_broken(finding) && finding.id != first->first->id && !follow.contains(finding.id))
        beside.insert(finding.id);
    for (const std::string& id : demo.folds) CHECK_MESSAGE(follow.contains(id), (id + " is not folded"));
    CHECK(line_of(beside) == line_of({demo.beside.begin(), demo.beside.end()}));
  }
}

TEST_CASE("the machines that faults are injected into are well") {
  const assets::Store assets = shipped();
  std::set<std::pair<std::string, checks::Stage>> survey;
  for (commands::Demo demo : every_demo(assets)) {
    if (!survey.emplace(demo.machine, demo.stage).second) continue;
    CAPTURE(demo.machine);
    CAPTURE(static_cast<unsigned>(demo.stage));
    demo.hosts = demo.cluster = {};
    for (const report::Finding& finding : judged(demo, assets))
      CHECK_MESSAGE(!is_broken(finding),
                    (finding.host + " " + finding.id + ": " + finding.message + " | " + finding.evidence));
  }
}
