#include "gpuadm/cluster/etcd_members.hpp"

#include <doctest/doctest.h>

namespace {

spec::Host host(const std::string& name, const std::string& address) {
  spec::Host host;
  host.name = name;
  host.endpoint.address = address;
  return host;
}

const char* const three = "one 10.0.0.1\ntwo 10.0.0.2\nthree fd00::3\n";

/// The reason and the hint of the refusal; empty: the restore is allowed.
std::string refusal(const std::vector<std::string>& outputs, const cluster::RestoreHosts& restore) {
  std::vector<cluster::EtcdMembers> known;
  for (const std::string& output : outputs) {
    auto members = cluster::read_etcd_members(output);
    REQUIRE(members);
    known.push_back(*members);
  }
  const auto may = cluster::may_restore(known, restore);
  if (may) return "";
  CHECK(may.error().fault == base::Fault::blocked);
  return may.error().what + "; " + may.error().hint;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("etcd restore: a member that is not among the hosts is named, with what names it") {
  const cluster::RestoreHosts one{{"one"}, {"one"}, {}, {}, ""};
  for (const char* source : {"etcd", "data", "nodes", "manifest"}) {
    const std::string text = refusal({std::string(source) + "\n" + three}, one);
    CHECK(has(text, "etcd has 3 members"));
    CHECK(has(text, "not among the hosts: two, three"));
  }
  CHECK(has(refusal({std::string("etcd\n") + three}, one), "as etcd lists them"));
  CHECK(has(refusal({"etcd\none 10.0.0.1\n- 10.0.0.2\n"}, one), "not among the hosts: 10.0.0.2"));
  CHECK(refusal({std::string("etcd\n") + three}, {{"one", "two", "three"}, {}, {}, {}, ""}).empty());
  CHECK(refusal({"etcd\none 10.0.0.1\n"}, one).empty());
  CHECK(refusal({"data\none 10.0.0.1\n"}, one).empty());
  CHECK(refusal({"nodes\none 10.0.0.1\n"}, one).empty());
}

TEST_CASE("etcd restore: a host that knows more members than another one, and etcd with a quorum, decide") {
  const cluster::RestoreHosts two{{"one", "two"}, {"one", "two"}, {}, {}, ""};
  CHECK(has(refusal({"manifest\none 10.0.0.1\n", std::string("data\n") + three}, two), "hosts: three"));
  CHECK(refusal({std::string("data\n") + three, "etcd\none 10.0.0.1\ntwo 10.0.0.2\n"}, two).empty());
}

TEST_CASE(
    "etcd restore: without etcd, data and API server, the cluster file must have no other control planes") {
  const std::vector<std::string> known{"manifest\none 10.0.0.1\n"};
  CHECK(has(refusal(known, {{"one"}, {"one"}, {}, {}, ""}), "-f cluster.yaml"));
  CHECK(refusal(known, {{"one"}, {"one"}, {}, {"one"}, "cluster.yaml"}).empty());
  const std::string text = refusal(known, {{"one"}, {"one"}, {}, {"one", "two", "three"}, "cluster.yaml"});
  CHECK(has(text, "cluster.yaml has control-plane nodes that are not restored: two, three"));
  CHECK(
      refusal(known, {{"one"}, {"one"}, {host("two", "10.0.0.2")}, {"one", "two"}, "cluster.yaml"}).empty());
}

TEST_CASE("etcd restore: a lost host is left out by its name or address, unless etcd has a quorum") {
  const cluster::RestoreHosts lost{
      {"one"}, {"one"}, {host("rack2", "10.0.0.2"), host("three.example.com", "10.0.9.9")}, {}, ""};
  CHECK(refusal({std::string("data\n") + three}, lost).empty());
  CHECK(has(refusal({std::string("data\n") + three + "four 10.0.0.4\n"}, lost), "not among the hosts: four"));
  const std::string text = refusal({std::string("etcd\n") + three}, lost);
  CHECK(has(text, "etcd has a quorum, and two, three can be removed from it"));
  CHECK(has(text, "gpuadm remove HOST --force"));
  CHECK(refusal({"etcd\none 10.0.0.1\n"}, lost).empty());
}

TEST_CASE("etcd restore: members that a host does not name are an error") {
  CHECK(!cluster::read_etcd_members(""));
  CHECK(!cluster::read_etcd_members("3\n"));
}
