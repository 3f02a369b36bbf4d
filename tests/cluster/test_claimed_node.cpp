#include "gpuadm/cluster/claimed_node.hpp"

#include <doctest/doctest.h>

namespace {

/// The control plane cp1 at 10.0.0.1 and the worker gpu3 at 10.0.0.3; each reports its own node.
struct ClaimWorld {
  spec::Cluster cluster;
  facts::Census census;
  facts::ClusterFacts view;

  ClaimWorld() {
    view.nodes.emplace();
    add("cp1", "10.0.0.1");
    add("gpu3", "10.0.0.3");
  }
  void add(const std::string& name, const std::string& address) {
    spec::Host host;
    host.name = name;
    host.endpoint.address = address;
    cluster.hosts.push_back(host);
    facts::Facts facts;
    facts.kubernetes.node_name = name;
    census.emplace(name, facts);
    facts::Node node;
    node.name = name;
    node.address = address;
    view.nodes->push_back(node);
  }
  /// Why the node that gpu3 reports is refused; empty: accepted.
  std::string refusal() {
    const facts::Node* node = facts::node_of(view, *census.at("gpu3"));
    REQUIRE(node);
    const auto checked = cluster::check_claimed_node(*node, "gpu3", cluster, census, view);
    return checked ? "" : checked.error().what;
  }
};

}  // namespace

TEST_CASE("a host that reports the node of another host is refused") {
  ClaimWorld world;
  CHECK(world.refusal().empty());
  world.census.at("gpu3")->kubernetes.node_name = "cp1";
  CHECK(world.refusal() == "gpu3 reports that it is the node cp1, which is cp1");
  // Also if the other one does not answer.
  world.census.erase("cp1");
  world.census.emplace("cp1", base::fail(base::Fault::unreachable, "cp1: timed out"));
  CHECK_FALSE(world.refusal().empty());
}

TEST_CASE("a node whose host has another name and address is accepted, unless two hosts report it") {
  ClaimWorld world;
  world.cluster.hosts[1].name = "gpu3";
  world.cluster.hosts[1].endpoint.address = "203.0.113.3";
  world.view.nodes->at(1).name = "worker-3";
  world.census.at("gpu3")->kubernetes.node_name = "worker-3";
  CHECK(world.refusal().empty());
  world.census.at("cp1")->kubernetes.node_name = "worker-3";
  CHECK_FALSE(world.refusal().empty());
}
