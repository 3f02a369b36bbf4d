#include "commands/install/identity.hpp"

#include <doctest/doctest.h>

namespace {

spec::Cluster cluster_of(const std::string& keys) {
  return *spec::parse("apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nhosts: [{ name: one }]\n" + keys,
                      "cluster.yaml");
}

commands::Identity runs(const char* version, facts::Census& census) {
  facts::Facts facts;
  facts.kubernetes.kubelet = version;
  census.emplace("one", facts);
  return {cluster_of("name: team\n"), "one", true};
}

}  // namespace

TEST_CASE("identity: a file of another cluster is refused with both values of each setting") {
  const spec::Cluster stored = cluster_of("name: team\nnetwork: { plugin: bridge }\n");
  CHECK(commands::require_same(stored, stored, "one", "cluster.yaml"));
  const auto other = commands::require_same(
      stored, cluster_of("name: prod\nnetwork: { podCIDR: 10.9.0.0/16, dnsDomain: prod.local }\n"), "one",
      "cluster.yaml");
  REQUIRE(!other);
  CHECK(other.error().fault == base::Fault::blocked);
  CHECK(other.error().what ==
        "one is a control plane of cluster team, and cluster.yaml describes another cluster: name is team "
        "there and prod in cluster.yaml; network.plugin is bridge there and flannel in cluster.yaml; "
        "network.podCIDR is 10.244.0.0/16 there and 10.9.0.0/16 in cluster.yaml; network.dnsDomain is "
        "cluster.local there and prod.local in cluster.yaml");
}

TEST_CASE("identity: another version than the running one is refused with both") {
  facts::Census census;
  const commands::Identity identity = runs("v1.36.2", census);
  const auto asks = [&](const std::string& version) {
    return commands::require_version(cluster_of("kubernetes: { version: \"" + version + "\" }\n"), identity,
                                     census, "cluster.yaml");
  };
  CHECK(asks("1.36.2"));
  CHECK(asks("1.36"));
  CHECK(commands::require_version(cluster_of(""), identity, census, "cluster.yaml"));
  const auto newer = asks("1.37.0");
  REQUIRE(!newer);
  CHECK(newer.error().what ==
        "one runs cluster team with Kubernetes 1.36.2, and cluster.yaml requests 1.37.0");
  CHECK(newer.error().hint.contains("gpuadm upgrade"));
  const auto older = asks("1.36.1");
  REQUIRE(!older);
  CHECK(older.error().hint.contains("downgraded"));
}
