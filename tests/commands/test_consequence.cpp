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
  [[nodiscard]] std::string with(const std::set<std::string>& phases) const {
    return commands::consequence_for_gpus(cluster, census, phases);
  }
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
  docker.cluster.runtime.engine = spec::Engine::docker;
  docker.cluster.gpu.allocator = spec::Allocator::none;
  CHECK(docker.with({"runtime/config"})
            .ends_with("Docker restarts, which ends containers without live-restore"));
  CHECK(docker.with({}).find("pods cannot use them") != std::string::npos);
}
