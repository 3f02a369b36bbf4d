#include "gpuadm/plan/plan.hpp"

#include <doctest/doctest.h>

namespace {

/// A control plane and a GPU worker, Debian, that gets a driver: facts as the probe would give
/// them.
plan::Plan made(const std::vector<std::string>& skipped) {
  static const assets::Store store = *assets::Store::open({});
  static const playbook::Library library = *playbook::Library::load(store, "upgrade-stack");
  spec::Cluster cluster;
  cluster.gpu.driver = spec::DriverPolicy::install;
  cluster.kubernetes.source = spec::Source::installed;
  spec::Decisions decisions;
  decisions.hosts["gpu"].driver_branch = 580;
  decisions.hosts["gpu"].driver_modules = "open";
  facts::Census census;
  for (const char* name : {"cp", "gpu"}) {
    spec::Host host;
    host.name = name;
    host.role = name[0] == 'c' ? spec::Role::control_plane : spec::Role::worker;
    cluster.hosts.push_back(host);
    facts::Facts facts;
    facts.machine.hostname = name;
    facts.os.family = facts::Family::debian;
    facts.kubernetes.kubeadm = facts.kubernetes.kubelet = "v1.35.2";
    facts.kubernetes.kubelet_conf = true;
    facts.kubernetes.admin_conf = name[0] == 'c';
    if (name[0] == 'g') {
      facts.nvidia.gpus.emplace_back();
      facts.nvidia.driver.emplace().version = "580.95.05";
    }
    census.emplace(name, facts);
  }
  plan::Choice choice;
  choice.skip_phases = skipped;
  choice.given = {
      {"drain", "yes"}, {"drain_timeout", "300"}, {"stack_targets", "gpu driver x 580.95.05-1\n"}};
  choice.batches = {{{"gpu"}, {{"each_nodes", "gpu"}}}};
  auto plan = plan::make(cluster, decisions, census, library, nullptr, choice);
  REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().what));
  return *plan;
}

/// "STAGE HOST" a line, of stages with acting hosts.
std::string order(const plan::Plan& plan) {
  std::string text;
  for (const plan::Stage& stage : plan.stages)
    for (const plan::Walk& walk : stage.walks) text += stage.name + " " + walk.host + "\n";
  return text;
}

const plan::Action& action(const plan::Plan& plan, const std::string& id) {
  for (const plan::Stage& stage : plan.stages)
    for (const plan::Walk& walk : stage.walks)
      for (const plan::Action& action : walk.actions)
        if (action.id == id) return action;
  FAIL(id);
  return plan.stages.front().walks.front().actions.front();
}

}  // namespace

TEST_CASE("upgrade --driver: rehearsed on the node, drained by the control plane, swapped, back") {
  const plan::Plan plan =
      made({"upgrade/toolkit", "upgrade/runtime", "upgrade/runtime-config", "upgrade/runtime-verify"});
  CHECK(order(plan) ==
        "upgrade/rehearsal:gpu gpu\nupgrade/drain:gpu cp\nupgrade/driver:gpu gpu\n"
        "upgrade/labels:gpu gpu\nupgrade/cdi:gpu gpu\n"
        "upgrade/ready:gpu cp\nupgrade/offered:gpu cp\nupgrade/return:gpu cp\n");
  CHECK(action(plan, "gpu.driver.runs").effects.reboot);
  CHECK(!action(plan, "gpu.driver.runs").needs_reboot.empty());
  CHECK(action(plan, "gpu.driver.runs").variables.at("stack_targets") == "gpu driver x 580.95.05-1\n");
  CHECK(action(plan, "gpu.labels").variables.at("node_labels").find("cuda.driver-version.full=580.95.05\n") !=
        std::string::npos);
  CHECK(action(plan, "gpu.driver.rehearsal").variables.at("driver_branch") == "580");
}

TEST_CASE("upgrade --runtime: the configuration is made for the runtime that is then there") {
  const plan::Plan plan = made({"upgrade/rehearsal", "upgrade/driver", "upgrade/labels", "upgrade/toolkit",
                                "upgrade/cdi", "upgrade/offered"});
  CHECK(order(plan) ==
        "upgrade/drain:gpu cp\nupgrade/runtime:gpu gpu\nupgrade/runtime-config:gpu gpu\n"
        "upgrade/runtime-verify:gpu gpu\nupgrade/ready:gpu cp\nupgrade/return:gpu cp\n");
}
