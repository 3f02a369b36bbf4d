#include "gpuadm/cluster/leaving_node.hpp"

#include <doctest/doctest.h>

namespace {

base::Result<facts::Facts> answers(const std::string& machine_id) {
  facts::Facts facts;
  facts.machine.id = machine_id;
  return facts;
}

const base::Result<facts::Facts> no_answer = base::fail(base::Fault::unreachable, "no route to host");

spec::Host host(const std::string& name, const std::string& address) {
  spec::Host host;
  host.name = name;
  host.endpoint.address = address;
  return host;
}

const std::vector<cluster::Known> nodes{{"gpu1", "aaaa", {"10.0.0.1", "gpu1"}},
                                        {"gpu2", "bbbb", {"10.0.0.2", "gpu2"}},
                                        {"gpu3", "cccc", {"10.0.0.3", "gpu3"}}};

}  // namespace

TEST_CASE("leaving node: machine id and name or address agree") {
  CHECK(*cluster::node_of(host("gpu2", "203.0.113.9"), answers("bbbb"), nodes) == "gpu2");
  CHECK(*cluster::node_of(host("GPU2.example.com", "203.0.113.9"), answers("bbbb"), nodes) == "gpu2");
  CHECK(*cluster::node_of(host("10.0.0.2", "10.0.0.2"), answers("bbbb"), nodes) == "gpu2");
  CHECK(*cluster::node_of(host("rack7", "gpu2.example.com"), answers("bbbb"), nodes) == "gpu2");
}

TEST_CASE("leaving node: a host that says another node's machine id is refused, and the node is named") {
  for (const char* id : {"aaaa", "cccc"}) {
    const auto node = cluster::node_of(host("gpu2", "10.0.0.2"), answers(id), nodes);
    REQUIRE(!node);
    CHECK(node.error().fault == base::Fault::blocked);
    CHECK(node.error().what.find(id == std::string("aaaa") ? "gpu1" : "gpu3") != std::string::npos);
  }
}

TEST_CASE(
    "leaving node: a host with a machine id of no node is refused while a node has its name or address") {
  for (const char* id : {"dddd", ""}) {
    const auto node = cluster::node_of(host("gpu2", "10.0.0.2"), answers(id), nodes);
    REQUIRE(!node);
    CHECK(node.error().what == "gpu2 does not have the machine id of the node gpu2");
    CHECK(node.error().hint.find("kubectl delete node gpu2") != std::string::npos);
  }
}

TEST_CASE("leaving node: a node that says another one's machine id and address is not taken for it") {
  std::vector<cluster::Known> lying = nodes;
  lying[2] = {"gpu3", "bbbb", {"10.0.0.2"}};
  CHECK(!cluster::node_of(host("gpu2", "10.0.0.2"), answers("bbbb"), lying));
  CHECK(!cluster::node_of(host("gpu2", "10.0.0.2"), no_answer, lying));
  // Only its machine id, or only its address.
  lying[2] = {"gpu3", "bbbb", {"10.0.0.3"}};
  CHECK(*cluster::node_of(host("gpu2", "10.0.0.2"), answers("bbbb"), lying) == "gpu2");
  lying[2] = {"gpu3", "cccc", {"10.0.0.2"}};
  CHECK(*cluster::node_of(host("gpu2", "10.0.0.2"), answers("bbbb"), lying) == "gpu2");
}

TEST_CASE(
    "leaving node: a host that did not answer is known by name or address; one that no node is, is named") {
  CHECK(*cluster::node_of(host("gpu3", "203.0.113.9"), no_answer, nodes) == "gpu3");
  CHECK(*cluster::node_of(host("rack7", "10.0.0.3"), no_answer, nodes) == "gpu3");
  CHECK(!cluster::node_of(host("rack7", "203.0.113.9"), no_answer, nodes));
  // A name that ends at a dot is not enough if another host of the file may be the node.
  const std::vector<spec::Host> file{host("gpu3.rack1", "203.0.113.1"), host("gpu3.rack2", "203.0.113.2")};
  CHECK(*cluster::node_of(file[0], no_answer, nodes, {file[0]}) == "gpu3");
  CHECK(!cluster::node_of(file[0], no_answer, nodes, file));
  CHECK(!cluster::node_of(file[1], no_answer, nodes, file));
  CHECK(*cluster::node_of(file[1], answers("cccc"), nodes, file) == "gpu3");
  CHECK(*cluster::node_of(host("gpu3.rack2", "10.0.0.3"), no_answer, nodes, file) == "gpu3");
  const auto removed = cluster::node_of(host("gpu4", "10.0.0.4"), answers("dddd"), nodes);
  REQUIRE(removed);
  CHECK(!removed->has_value());
}

TEST_CASE("leaving node: what a node says of itself makes no further node") {
  const cluster::Nodes read = cluster::read_nodes(
      "routed\ngpu1\t\"aaaa\"\t\"10.0.0.1\" \"gpu1\" \n"
      "gpu2\t\"x\\ngpu1\\t\\\"bbbb\\\"\\t\\\"10.0.0.2\\\"\"\t\"10.0.0.2\" \n");
  CHECK(read.routed);
  REQUIRE(read.all.size() == 2);
  CHECK(read.all[0].name == "gpu1");
  CHECK(read.all[0].machine_id == "aaaa");
  CHECK(read.all[0].addresses == std::vector<std::string>{"10.0.0.1", "gpu1"});
  CHECK(read.all[1].name == "gpu2");
  CHECK(!cluster::node_of(host("gpu2", "10.0.0.2"), answers("bbbb"), read.all));
}
