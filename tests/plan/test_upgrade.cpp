#include "gpuadm/base/text.hpp"
#include "gpuadm/checks/upgrade.hpp"
#include "gpuadm/plan/plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

/// Three control planes and three workers, Debian, 1.35.2 from packages: facts as the probe would give them.
struct Scenario {
  assets::Store store = *assets::Store::open({});
  playbook::Library library = *playbook::Library::load(store, "upgrade");
  spec::Cluster cluster;
  facts::Census census;

  Scenario() {
    cluster.kubernetes.version = base::Version{1, 36, 4};
    for (const char* name : {"w1", "cp1", "cp2", "cp3", "w2", "w3"}) {
      spec::Host host;
      host.name = name;
      host.role = name[0] == 'c' ? spec::Role::control_plane : spec::Role::worker;
      cluster.hosts.push_back(host);
      facts::Facts facts;
      facts.machine.hostname = name;
      facts.os.family = facts::Family::debian;
      facts.kubernetes.kubeadm = facts.kubernetes.kubelet = facts.kubernetes.kubectl = "v1.35.2";
      facts.kubernetes.kubelet_conf = true;
      facts.kubernetes.admin_conf = name[0] == 'c';
      census.emplace(name, facts);
    }
  }

  [[nodiscard]] plan::Plan made(int unavailable) const {
    plan::Choice choice;
    choice.given = {{"drain", "yes"}, {"drain_timeout", "300"}};
    for (const auto& hosts : checks::upgrade_order(cluster, unavailable))
      choice.batches.push_back({hosts, {{"each_nodes", base::join(hosts, " ")}}});
    auto plan = plan::make(cluster, {}, census, library, nullptr, choice);
    REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().what));
    return *plan;
  }
};

/// "STAGE: HOST STEP STEP; HOST STEP", a line a stage that has steps; only stages whose names begin so.
std::string shown(const plan::Plan& plan, const std::string& begin) {
  std::string text;
  for (const plan::Stage& stage : plan.stages) {
    if (!stage.name.starts_with(begin) || stage.walks.empty()) continue;
    text += stage.name + ":";
    for (const plan::Walk& walk : stage.walks) {
      text += (&walk == &stage.walks.front() ? " " : "; ") + walk.host;
      for (const plan::Action& action : walk.actions) text += " " + action.id;
    }
    text += "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("upgrade: node by node, drained by the first control plane, which alone applies the new version") {
  const plan::Plan plan = Scenario().made(2);
  CHECK(shown(plan, "upgrade/kubeadm") ==
        "upgrade/kubeadm:cp1: cp1 upgrade.kubeadm.package upgrade.apply certs.vip\n"
        "upgrade/kubeadm:cp2: cp2 upgrade.kubeadm.package upgrade.node certs.vip\n"
        "upgrade/kubeadm:cp3: cp3 upgrade.kubeadm.package upgrade.node certs.vip\n"
        "upgrade/kubeadm:w1,w2: w1 upgrade.kubeadm.package upgrade.node; w2 upgrade.kubeadm.package "
        "upgrade.node\n"
        "upgrade/kubeadm:w3: w3 upgrade.kubeadm.package upgrade.node\n");
  CHECK(shown(plan, "upgrade/drain") ==
        "upgrade/drain:cp1: cp1 upgrade.drain:cp1\n"
        "upgrade/drain:cp2: cp1 upgrade.drain:cp2\n"
        "upgrade/drain:cp3: cp1 upgrade.drain:cp3\n"
        "upgrade/drain:w1,w2: cp1 upgrade.drain:w1,w2\n"
        "upgrade/drain:w3: cp1 upgrade.drain:w3\n");
  CHECK(shown(plan, "upgrade/kubelet:w1,w2") ==
        "upgrade/kubelet:w1,w2: w1 upgrade.kubelet.packages upgrade.kubelet.restart; w2 "
        "upgrade.kubelet.packages upgrade.kubelet.restart\n");
  CHECK(shown(plan, "upgrade/return:w3") == "upgrade/return:w3: cp1 upgrade.ready:w3 upgrade.return:w3\n");
}

TEST_CASE("upgrade: a batch is through before the next one begins") {
  const plan::Plan plan = Scenario().made(2);
  std::vector<std::string> order;
  for (const plan::Stage& stage : plan.stages)
    if (stage.name.find(':') != std::string::npos) order.push_back(stage.name);
  std::vector<std::string> expected;
  for (const char* batch : {"cp1", "cp2", "cp3", "w1,w2", "w3"})
    for (const char* phase : {"kubeadm", "drain", "kubelet", "return"})
      expected.push_back(std::string("upgrade/") + phase + ":" + batch);
  CHECK(order == expected);
  const auto drain = std::ranges::find(plan.stages, "upgrade/drain:w1,w2", &plan::Stage::name);
  REQUIRE(drain != plan.stages.end());
  CHECK(drain->walks.front().actions.front().variables.at("each_nodes") == "w1 w2");
  CHECK(drain->walks.front().actions.front().variables.at("drain_timeout") == "300");
}

TEST_CASE("upgrade: the repository of the new minor comes first, and packages are its patch") {
  const plan::Plan plan = Scenario().made(1);
  CHECK(plan.stages.front().name == "os/repositories");
  CHECK(plan.stages.front().walks.size() == 6);
  CHECK(plan.stages.front().walks.front().actions.front().variables.at("kubernetes_minor") == "1.36");
  const auto kubeadm = std::ranges::find(plan.stages, "upgrade/kubeadm:cp1", &plan::Stage::name);
  REQUIRE(kubeadm != plan.stages.end());
  CHECK(kubeadm->walks.front().actions.front().variables.at("package_version") == "1.36.4-*");
}

TEST_CASE("phases with `each` and without batches go host by host") {
  const Scenario scenario;
  const auto plan = plan::make(scenario.cluster, {}, scenario.census, scenario.library, nullptr,
                               {.given = {{"drain", "no"}, {"drain_timeout", "1"}, {"each_nodes", "x"}}});
  REQUIRE(plan);
  CHECK(std::ranges::count_if(plan->stages, [](const plan::Stage& stage) {
          return stage.name.starts_with("upgrade/drain:");
        }) == 6);
}
