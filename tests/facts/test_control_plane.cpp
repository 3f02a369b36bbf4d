#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/facts/facts.hpp"

#include <doctest/doctest.h>

TEST_CASE("the parts of a control plane are read with what they say, blanks and all") {
  const auto facts = facts::parse(
      "gpuadm-probe 1\n=== control-plane\n| kube-apiserver 0 ok\n| kube-scheduler 1 The connection was "
      "refused\n"
      "| etcd 0 {\"health\":\"true\"}\n| damaged\n=== end\n");
  REQUIRE(facts);
  REQUIRE(facts->kubernetes.components);
  const auto& parts = *facts->kubernetes.components;
  REQUIRE(parts.size() == 3);
  CHECK(parts[1].name == "kube-scheduler");
  CHECK(parts[1].status == 1);
  CHECK(parts[1].message == "The connection was refused");
  CHECK(parts[2].message == R"({"health":"true"})");
}

TEST_CASE("members of etcd are read with their own word; one that is silent is there, too") {
  const auto facts = facts::parse_cluster(
      "gpuadm-probe 1\n=== etcd-members\n"
      R"(| {"members":[{"ID":"17","name":"a","clientURLs":["https://192.0.2.1:2379"]},{"ID":"18","name":"b","clientURLs":["https://192.0.2.2:2379"]}]})"
      "\n? 0\n=== etcd-status/https://192.0.2.1:2379\n"
      R"(| {"version":"3.5.15","dbSize":"4096","leader":"17","errors":["NOSPACE"]})"
      "\n? 0\n=== etcd-status/https://192.0.2.2:2379\n? 1\n=== end\n");
  REQUIRE(facts);
  REQUIRE(facts->etcd_members);
  const auto& members = *facts->etcd_members;
  REQUIRE(members.size() == 2);
  CHECK(members[0].leads);
  CHECK(members[0].bytes == 4096);
  CHECK(members[0].errors == std::vector<std::string>{"NOSPACE"});
  CHECK(!members[1].answers);
  CHECK(!members[1].has_leader);
}

TEST_CASE("etcd that was not asked, or answered no JSON, is not known") {
  CHECK(!facts::parse_cluster("gpuadm-probe 1\n=== end\n")->etcd_members);
  CHECK(!facts::parse_cluster("gpuadm-probe 1\n=== etcd-members\n| <html>\n? 0\n=== end\n")->etcd_members);
}

TEST_CASE("a host's node is the one of its whole name, else the only one of its short name") {
  facts::ClusterFacts cluster;
  cluster.nodes.emplace();
  for (const char* name : {"gpu1.rack1", "gpu1.rack2", "cp1.example.com"}) {
    facts::Node node;
    node.name = name;
    cluster.nodes->push_back(node);
  }
  const auto node = [&](const char* hostname, const char* in_kubeconfig = "") {
    facts::Facts facts;
    facts.machine.hostname = hostname;
    facts.kubernetes.node_name = in_kubeconfig;
    const facts::Node* found = facts::node_of(cluster, facts);
    return found ? found->name : "none";
  };
  CHECK(node("gpu1.rack2") == "gpu1.rack2");
  CHECK(node("gpu1") == "none");
  CHECK(node("CP1") == "cp1.example.com");
  CHECK(node("other") == "none");
  CHECK(node("cp1.example.org") == "none");
  CHECK(node("other", "gpu1.rack1") == "gpu1.rack1");
  CHECK(node("cp1", "cp2") == "none");
}

TEST_CASE("certificates expire at their date, even after 2262; invalid dates are ignored") {
  const auto facts = facts::parse(
      "gpuadm-probe 1\n=== certificates\n| /a.crt Dec 31 23:59:59 9999 GMT\n| /b.crt Jan  1 00:00:00 2300 "
      "GMT\n"
      "| /c.crt Feb 30 00:00:00 2030 GMT\n| /d.crt anM 1 00:00:00 2030 GMT\n| /e.crt Jan 1 00:00:00 "
      "99999999999 GMT\n=== end\n");
  REQUIRE(facts);
  REQUIRE(facts->kubernetes.certificates);
  const auto& all = *facts->kubernetes.certificates;
  REQUIRE(all.size() == 2);
  CHECK(all[0].ends == 253402300799.0);
  CHECK(all[1].ends == 10413792000.0);
}
