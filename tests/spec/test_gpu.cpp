#include "gpuadm/spec/cluster.hpp"

#include <doctest/doctest.h>

using namespace spec;

namespace {

Cluster cluster() {
  auto cluster = parse(R"(apiVersion: gpuadm/v1alpha1
kind: GpuCluster
gpu:
  sharing: { timeSlicing: 2 }
  models:
    NVIDIA H200: { sharing: { mps: 4 } }
    A30: { mig: { devices: { 1g.6gb: 4 } } }
hosts:
  - { name: one }
  - { name: two, gpu: { sharing: exclusive } }
  - { name: three, gpu: { mig: { devices: { 1g.18gb: 7 } }, sharing: exclusive } }
)",
                       "cluster.yaml");
  REQUIRE_MESSAGE(cluster, (cluster ? "" : cluster.error().what));
  return *cluster;
}

}  // namespace

TEST_CASE("the host's own word goes before its model's, that before the cluster's") {
  const Cluster c = cluster();
  const auto layout = [&](std::size_t host, std::vector<std::string> models) {
    return layout_of(c, c.hosts[host], models);
  };
  CHECK(layout(0, {}).sharing == GpuProfile{Sharing::time_slicing, 2});
  CHECK(layout(0, {"NVIDIA L4"}).sharing == GpuProfile{Sharing::time_slicing, 2});
  CHECK(layout(0, {"NVIDIA H200"}).sharing == GpuProfile{Sharing::mps, 4});
  CHECK(layout(0, {"NVIDIA L4", "NVIDIA H200"}).sharing == GpuProfile{Sharing::mps, 4});
  CHECK(layout(1, {"NVIDIA H200"}).sharing == GpuProfile{});
  // Sharing and MIG are inherited one by one.
  CHECK(layout(0, {"NVIDIA A30"}).sharing == GpuProfile{Sharing::time_slicing, 2});
  CHECK(layout(0, {"NVIDIA A30"}).mig.devices.at("1g.6gb") == 4);
  CHECK(layout(2, {"NVIDIA A30"}).mig.devices.at("1g.18gb") == 7);
}

TEST_CASE("a model is meant in any case, with or without the vendor's name") {
  CHECK(is_model("NVIDIA H200", "NVIDIA H200"));
  CHECK(is_model("h200", "NVIDIA H200"));
  CHECK(is_model("Tesla T4", "NVIDIA T4"));
  CHECK(!is_model("H20", "NVIDIA H200"));
  CHECK(!is_model("H200", "NVIDIA H200 NVL"));
}

TEST_CASE("MIG profiles are known by their form") {
  for (const char* good : {"1g.5gb", "7g.141gb", "1g.10gb+me", "1g.24gb-me", "1g.24gb+me.all", "4g.96gb+gfx"})
    CHECK_MESSAGE(is_mig_profile(good), good);
  for (const char* bad :
       {"", "g.5gb", "1g", "1g.gb", "1g.5gb+", "1g.5gb+xx", "1g.5gbme", "1G.5GB", "1g.5gb "})
    CHECK_MESSAGE(!is_mig_profile(bad), bad);
}
