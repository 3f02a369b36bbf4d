#include "commands/install/consequence.hpp"

#include <doctest/doctest.h>

namespace {

struct Hosts {
  spec::Cluster cluster;
  facts::Census census;
  explicit Hosts(int count) {
    for (int i = 0; i < count; ++i) {
      spec::Host host;
      host.name = "gpu" + std::to_string(i);
      facts::Facts facts;
      facts.nvidia.gpus.resize(8);
      for (facts::Gpu& gpu : facts.nvidia.gpus) gpu.name = "NVIDIA H200";
      cluster.hosts.push_back(host);
      census.emplace(host.name, std::move(facts));
    }
  }
  [[nodiscard]] std::string with(const std::set<std::string>& phases,
                                 const std::set<std::string>& restarts = {},
                                 const std::set<std::string>& reboots = {}) const {
    session::NeededEffects needed{
        .phases = phases, .hosts = {}, .packages = {}, .restarts = restarts, .reboots = reboots};
    for (const spec::Host& host : cluster.hosts)
      if (host.name != idle) needed.hosts.insert(host.name);
    return commands::consequence_for_gpus(cluster, census, needed);
  }
  std::string idle;  // needs no step
};

}  // namespace

TEST_CASE("the question says what the run means for the GPUs") {
  CHECK(Hosts(1).with({"kube/init"}) ==
        "GPUs: 8 NVIDIA H200 on gpu0: pods can use them afterwards; programs that use them now keep running");
  CHECK(
      Hosts(512).with({"gpu/driver"}) ==
      "GPUs: 4096 NVIDIA H200 on 512 hosts: the driver is installed, which ends programs that use them; pods "
      "can use them afterwards");
  CHECK(Hosts(0).with({}) == "GPUs: no NVIDIA GPU was found on these hosts");
  Hosts docker(1);
  docker.cluster.gpu.allocator = spec::Allocator::none;
  CHECK(docker.with({"os/proxy"}, {"docker.service"})
            .ends_with("Docker restarts, which ends containers without live-restore"));
  CHECK(docker.with({}).find("pods cannot use them") != std::string::npos);
  CHECK(Hosts(1).with({"os/modules"}, {}, {"gpu0 (the kernel)"}).find("keep running") == std::string::npos);
  Hosts joined(2);
  joined.idle = "gpu0";
  CHECK(joined.with({"kube/join"}).starts_with("GPUs: 8 NVIDIA H200 on gpu1:"));
}
