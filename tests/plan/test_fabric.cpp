#include "gpuadm/plan/plan.hpp"

#include <doctest/doctest.h>

namespace {

/// The steps of a driver's installation that have to do with what joins GPUs, on a host of such facts.
std::string steps(const std::vector<std::string>& nvswitches,
                  const std::vector<std::string>& nvlink_managers) {
  static const assets::Store store = *assets::Store::open({});
  static const playbook::Library library = *playbook::Library::load(store, "init");
  spec::Cluster cluster;
  cluster.gpu.driver = spec::DriverPolicy::install;
  cluster.kubernetes.source = spec::Source::installed;
  spec::Host host;
  host.name = "gpu";
  cluster.hosts.push_back(host);
  spec::Decisions decisions;
  decisions.hosts["gpu"].driver_branch = 580;
  decisions.hosts["gpu"].driver_modules = "open";
  facts::Facts facts;
  facts.os.family = facts::Family::debian;
  facts.kubernetes.kubeadm = facts.kubernetes.kubelet = "v1.35.2";
  facts.nvidia.pci_gpus.emplace_back();
  facts.nvidia.nvswitches = nvswitches;
  facts.nvidia.nvlink_managers = nvlink_managers;
  plan::Choice choice;
  choice.phases = {"gpu/driver"};
  const auto plan = plan::make(cluster, decisions, {{"gpu", facts}}, library, nullptr, choice);
  REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().what));
  std::string text;
  for (const plan::Stage& stage : plan->stages)
    for (const plan::Walk& walk : stage.walks)
      for (const plan::Action& action : walk.actions)
        if (action.id.ends_with("-manager")) text += action.id + "\n";
  return text;
}

}  // namespace

TEST_CASE("a driver is installed with the managers that the GPUs' fabric requires") {
  CHECK(steps({}, {}).empty());
  CHECK(steps({"0000:c0:00.0"}, {}) == "gpu.driver.fabric-manager\n");
  CHECK(steps({}, {"0000:05:00.0"}) == "gpu.driver.subnet-manager\ngpu.driver.fabric-manager\n");
}
