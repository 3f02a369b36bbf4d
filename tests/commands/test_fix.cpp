// The contract between playbooks/fix.yaml and the checks.
#include "gpuadm/facts/time_services.hpp"
#include "gpuadm/plan/plan.hpp"
#include "gpuadm/session/findings.hpp"

#include "commands/inspect/fix.hpp"
#include "playbook/sample.hpp"

#include <algorithm>
#include <set>

TEST_CASE("fix: what a step fixes is a check, for more than 15 of them") {
  const playbook::Library library = *playbook::Library::load(*assets::Store::open({}), "fix");
  std::set<std::string, std::less<>> ids;
  for (const checks::About& about : session::every_check()) ids.emplace(about.id);
  const commands::Fixes fixes = commands::fixes_of(library);
  for (const auto& [id, titles] : fixes) CHECK_MESSAGE(ids.contains(id), id);
  CHECK(fixes.size() > 15);
}

TEST_CASE("fix: no step restarts anything or asks for a reboot") {
  const playbook::Library library = *playbook::Library::load(*assets::Store::open({}), "fix");
  for (const playbook::Phase& phase : library.playbook().phases)
    for (const playbook::Step& step : phase.steps) {
      CHECK_MESSAGE(!step.fixes.empty(), step.id);
      CHECK(step.effects.restarts.empty());
      CHECK(!step.effects.reboot);
      if (const auto* file = std::get_if<playbook::File>(&step.does)) CHECK(file->restarts.empty());
      if (const auto* shell = std::get_if<playbook::Shell>(&step.does))
        for (const auto& [family, text] : shell->apply.by_family)
          for (const char* word : {"systemctl restart", "reboot", "drain", "--gpu-reset", "kubeadm"})
            CHECK_MESSAGE(text.find(word) == std::string::npos, step.id);
    }
}

TEST_CASE("fix: only steps for what is open on a host are planned, and only where they can help") {
  Sample sample;
  const playbook::Library library = *playbook::Library::load(sample.store, "fix");
  const std::string host = sample.cluster.hosts.front().name;
  facts::Census census;
  census.emplace(host, sample.facts);
  plan::Choice choice;
  const auto ids = [&](const std::set<std::string>& open) {
    choice.fixes = {{host, open}};
    const auto plan = plan::make(sample.cluster, {}, census, library, nullptr, choice);
    REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().what));
    CHECK(plan->independent);
    std::vector<std::string> steps;
    for (const plan::Stage& stage : plan->stages)
      for (const plan::Walk& walk : stage.walks)
        for (const plan::Action& action : walk.actions) steps.push_back(action.id);
    return steps;
  };
  CHECK(ids({}).empty());
  CHECK(ids({"kernel.sysctl.inotify"}) == std::vector<std::string>{"os.limits.inotify"});
  CHECK(ids({"host.disk.swap-on"}).empty());  // the cluster file keeps swap
  CHECK(ids({"rt.present"}).empty());         // containerd has no unit here
  CHECK(ids({"host.hostname.resolves"}) == std::vector<std::string>{"fix.hosts"});
}

TEST_CASE("fix: findings that it fixes are marked, on their host only") {
  Sample sample;
  const std::string host = sample.cluster.hosts.front().name;
  facts::Census census;
  census.emplace(host, sample.facts);
  std::vector<report::Finding> findings = {{.id = "kernel.sysctl.inotify", .host = host},
                                           {.id = "host.cpu.count", .host = host},
                                           {.id = "host.disk.swap-on", .host = host},
                                           {.id = "kernel.sysctl.inotify", .host = "another"}};
  REQUIRE(commands::mark_fixable(findings, sample.cluster, census, sample.store));
  CHECK(findings[0].fixable);
  CHECK(!findings[1].fixable);
  CHECK(!findings[2].fixable);
  CHECK(!findings[3].fixable);
}

TEST_CASE("fix: the step for a stopped time service is planned only where it finds the service") {
  Sample sample;
  const playbook::Library library = *playbook::Library::load(sample.store, "fix");
  const std::string host = sample.cluster.hosts.front().name;
  plan::Choice choice;
  const std::set<std::string> open = {"host.time.synced"};
  choice.fixes = {{host, open}};
  const auto planned = [&](const facts::Facts& facts) {
    facts::Census census;
    census.emplace(host, facts);
    const auto plan = plan::make(sample.cluster, {}, census, library, nullptr, choice);
    REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().what));
    return std::ranges::any_of(plan->stages, [](const plan::Stage& stage) {
      return std::ranges::any_of(stage.walks, [](const plan::Walk& walk) { return !walk.actions.empty(); });
    });
  };
  CHECK(!planned(sample.facts));
  const std::string probe = *sample.store.read("playbooks/probe.sh");
  const std::string given = playbook::variable("time_services", sample.context()).value_or("");
  for (const char* unit : facts::time_services) {
    CHECK_MESSAGE(probe.find(fmt::format(" {} ", unit)) != std::string::npos, std::string(unit));
    CHECK_MESSAGE(given.find(fmt::format("{}\n", unit)) != std::string::npos, std::string(unit));
    facts::Facts stopped = sample.facts;
    stopped.software.units[unit].active = "inactive";
    CHECK_MESSAGE(planned(stopped), std::string(unit));
    stopped.software.units[unit].active = "active";
    CHECK_MESSAGE(!planned(stopped), std::string(unit));
  }
}
