#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/gpu_rows.hpp"

#include <doctest/doctest.h>

namespace {

/// One host with two GPUs, a node whose GPUs NVIDIA's DRA driver publishes.
struct GpuWorld {
  spec::Cluster cluster;
  facts::Census census;
  std::optional<facts::ClusterFacts> view;

  GpuWorld() {
    cluster.gpu.allocator = spec::Allocator::dra;
    facts::Facts host;
    host.machine.hostname = "one";
    host.kubernetes.kubelet_conf = true;
    for (const char* uuid : {"GPU-a", "GPU-b"}) {
      facts::Gpu gpu;
      gpu.index = static_cast<int>(host.nvidia.gpus.size());
      gpu.uuid = uuid;
      gpu.name = "NVIDIA H100";
      gpu.bus_id = std::string("0000:0") + std::to_string(gpu.index + 1) + ":00.0";
      host.nvidia.pci_gpus.push_back({gpu.bus_id, "2330", "10de:16c1", "0302", "nvidia"});
      host.nvidia.gpus.push_back(gpu);
    }
    census.emplace("one", host);
    view.emplace();
    facts::Node node;
    node.name = "one";
    node.conditions["Ready"] = {"True", "KubeletReady"};
    view->nodes = {{node}};
    view->slices = {
        {{"gpu.nvidia.com", "one", "one", {{"gpu-0", "gpu", "GPU-a", ""}, {"gpu-1", "gpu", "GPU-b", ""}}}}};
    view->resource_claims.emplace();
    view->pods.emplace();
  }
  [[nodiscard]] cluster::GpuTable table() const { return cluster::gpu_table(cluster, census, view, {}); }
};

facts::ResourceClaim claim(const std::string& name, const std::string& device,
                           std::vector<std::string> pods) {
  return {"ml", name, {{"gpu.nvidia.com", "one", device}}, std::move(pods)};
}

}  // namespace

TEST_CASE("of GPUs that are allocated by claims it is certain which pod has which") {
  GpuWorld world;
  world.view->resource_claims = {{claim("a", "gpu-1", {"trainer", "helper"}), claim("b", "gpu-0", {})}};
  facts::Pod pod;
  pod.ns = "ml";
  pod.name = "trainer";
  pod.node = "one";
  pod.phase = "Running";
  world.view->pods = {{pod}};
  const auto table = world.table();
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0].holders == std::vector<std::string>{"claim ml/b"});
  CHECK(table.rows[1].holders == std::vector<std::string>{"ml/trainer", "ml/helper"});
  for (const cluster::GpuRow& row : table.rows) CHECK_MESSAGE(row.allocatable == true, row.why);
  CHECK(table.counts.front().allocatable == 2);
  const auto pods = cluster::gpu_pods(*world.view, "one");
  REQUIRE(pods.size() == 1);
  CHECK(pods.front()->full() == "ml/trainer");
}

TEST_CASE("a GPU that no ResourceSlice names cannot be claimed") {
  GpuWorld world;
  world.view->slices->front().devices.pop_back();
  auto table = world.table();
  CHECK(table.rows[0].allocatable == true);
  CHECK(table.rows[1].allocatable == false);
  CHECK(table.rows[1].why == "not in any ResourceSlice of the DRA driver");
  CHECK(table.counts.front().allocatable == 1);
  world.view->slices->clear();
  table = world.table();
  CHECK(table.rows[0].why == "the DRA driver publishes no GPU of the node");
  // Without the cluster file's word it is the device plugin that is missed.
  world.cluster.gpu.allocator = spec::Allocator::device_plugin;
  CHECK(world.table().rows[0].why == "the device plugin advertises none");
}

TEST_CASE("where ResourceSlices could not be read, what can be claimed is unknown") {
  GpuWorld world;
  world.view->slices.reset();
  const auto table = world.table();
  CHECK(!table.rows[0].allocatable);
  CHECK(table.rows[0].why == "the ResourceSlices could not be read");
  CHECK(!table.counts.front().allocatable);
}

TEST_CASE("a MIG device belongs to the row of its GPU") {
  GpuWorld world;
  world.view->slices->front().devices = {{"gpu-0-mig-1", "mig", "MIG-1", "GPU-a"},
                                         {"gpu-1", "gpu", "GPU-b", ""}};
  world.view->resource_claims = {{claim("a", "gpu-0-mig-1", {"small"})}};
  const auto table = world.table();
  CHECK(table.rows[0].holders == std::vector<std::string>{"ml/small"});
  CHECK(table.rows[1].holders.empty());
}

TEST_CASE("pods do not get a GPU in quarantine, and the reason is shown") {
  GpuWorld world;
  world.census.at("one")->nvidia.quarantine = {{"GPU-b", "0000:02:00.0", "2026-11-27T02:00:00Z", "Xid 79"}};
  const auto table = world.table();
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0].health == "ok");
  CHECK(table.rows[1].health == "quarantined");
  CHECK(table.rows[1].allocatable == false);
  CHECK(table.rows[1].why == "in quarantine since 2026-11-27T02:00:00Z: Xid 79");
}

TEST_CASE("which pod has which GPU is certain by the kubelet's allocations") {
  GpuWorld world;
  world.cluster.gpu.allocator = spec::Allocator::device_plugin;
  world.view->slices->clear();
  for (const char* name : {"left", "right"}) {
    facts::Pod pod;
    pod.ns = "ml";
    pod.name = name;
    pod.node = "one";
    pod.phase = "Running";
    pod.gpus["nvidia.com/gpu"] = 1;
    world.view->pods->push_back(pod);
  }
  const auto holders = [&] {
    std::vector<std::string> all;
    for (const cluster::GpuRow& row : world.table().rows) all.push_back(base::join(row.holders, ","));
    return all;
  };
  CHECK(holders() ==
        std::vector<std::string>{"perhaps ml/left,perhaps ml/right", "perhaps ml/left,perhaps ml/right"});
  auto& nvidia = world.census.at("one")->nvidia;
  nvidia.allocated.emplace()["GPU-b"] = {"ml/left"};
  CHECK(holders() == std::vector<std::string>{"perhaps ml/right", "ml/left,perhaps ml/right"});
  (*nvidia.allocated)["MIG-1"] = {"ml/right"};
  nvidia.gpus.front().instances.push_back({.profile = "1g.10gb", .uuid = "MIG-1"});
  CHECK(holders() == std::vector<std::string>{"ml/right", "ml/left"});
}
