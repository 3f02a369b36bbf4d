#include "gpuadm/base/text.hpp"
#include "gpuadm/checks/upgrade.hpp"

#include "checks/data.hpp"
#include "checks/repository_data.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

using base::Version;

/// Hosts cp1…, w1… of a cluster that runs one version; a test changes what it is about.
struct World {
  spec::Cluster cluster;
  facts::Census census;
  facts::ClusterFacts facts;

  World(int control_planes, int workers, const std::string& version) {
    facts.version = version;
    facts.nodes.emplace();
    facts.pods.emplace();
    for (int i = 1; i <= control_planes; ++i) add(fmt::format("cp{}", i), spec::Role::control_plane);
    for (int i = 1; i <= workers; ++i) add(fmt::format("w{}", i), spec::Role::worker);
  }

  void add(const std::string& name, spec::Role role) {
    spec::Host host;
    host.name = name;
    host.role = role;
    cluster.hosts.push_back(host);
    facts::Facts host_facts;
    host_facts.machine.hostname = name;
    census.emplace(name, host_facts);
    facts::Node node;
    node.name = name;
    node.kubelet = facts.version;
    node.runtime = "containerd://1.7.24";
    node.conditions["Ready"] = {"True", "KubeletReady"};
    if (role == spec::Role::control_plane) node.labels["node-role.kubernetes.io/control-plane"] = "";
    facts.nodes->push_back(node);
    if (role != spec::Role::control_plane) return;
    facts::Pod etcd;
    etcd.ns = "kube-system";
    etcd.name = "etcd-" + name;
    etcd.owner = "Node/" + name;
    facts.pods->push_back(etcd);
  }
  facts::Node& node(const std::string& name) {
    for (facts::Node& one : *facts.nodes)
      if (one.name == name) return one;
    FAIL(name);
    return facts.nodes->front();
  }

  /// "ID: remedy" of each finding, a line each.
  [[nodiscard]] std::string judged(const Version& to) const {
    std::string text;
    static const auto data = repository_data();
    for (const report::Finding& finding : checks::examine_upgrade({cluster, census, facts, to}, *data)) {
      CHECK(!finding.remedy.empty());
      CHECK(!finding.message.empty());
      text += finding.id + (finding.severity == report::Severity::blocker ? "\n" : " (warning)\n");
    }
    return text;
  }
};

}  // namespace

TEST_CASE("upgrade: a patch and the next minor are possible, two minors and back are not") {
  const World world(3, 2, "v1.34.1");
  CHECK(world.judged({1, 34, 1}).empty());
  CHECK(world.judged({1, 34, 2}).empty());
  CHECK(world.judged({1, 35, 0}).empty());
  CHECK(world.judged({1, 36, 0}) == "upgrade.minor\n");
  CHECK(world.judged({1, 34, 0}) == "upgrade.downgrade\n");
  CHECK(world.judged({1, 33, 9}) == "upgrade.downgrade\n");
}

TEST_CASE("upgrade: what an API server does not say is not guessed") {
  World world(1, 0, "v1.34.1");
  world.facts.nodes.reset();
  CHECK(world.judged({1, 34, 2}) == "upgrade.ready\n");
}

TEST_CASE("upgrade: kubelets that are newer than the API server, or too old for the next one") {
  World world(3, 2, "v1.34.1");
  world.node("w1").kubelet = "v1.35.0";
  CHECK(world.judged({1, 35, 0}) == "upgrade.skew\n");
  CHECK(world.judged({1, 34, 2}) == "upgrade.skew\n");
  // Of a control plane that the same upgrade has come to already, while another one's API server answers.
  world.node("w1").kubelet = "v1.34.1";
  world.node("cp1").kubelet = "v1.35.0";
  CHECK(world.judged({1, 35, 0}).empty());
  world.node("cp1").kubelet = "v1.34.3";
  CHECK(world.judged({1, 34, 2}) == "upgrade.downgrade\n");
  world.node("cp1").kubelet = "v1.34.1";
  world.node("w2").kubelet = "v1.32.5";
  CHECK(world.judged({1, 35, 0}).empty());
  world.node("w2").kubelet = "v1.31.5";
  CHECK(world.judged({1, 34, 2}).empty());
  CHECK(world.judged({1, 35, 0}) == "upgrade.skew\n");
  World old(1, 1, "v1.26.0");
  old.node("w1").kubelet = "v1.24.0";
  CHECK(old.judged({1, 27, 0}) == "upgrade.skew\n");
}

TEST_CASE("upgrade: a node that is not Ready, unless gpuadm is upgrading it") {
  World world(1, 2, "v1.34.1");
  world.node("w1").conditions["Ready"].status = "Unknown";
  CHECK(world.judged({1, 34, 2}) == "upgrade.ready\n");
  world.node("w1").upgrade = "uncordon drained";
  CHECK(world.judged({1, 34, 2}).empty());
}

TEST_CASE("upgrade: most control planes are Ready, all of them named; of two it is said what that means") {
  World two(2, 1, "v1.34.1");
  CHECK(two.judged({1, 34, 2}) == "upgrade.quorum (warning)\n");
  two.node("cp2").conditions["Ready"].status = "Unknown";
  CHECK(two.judged({1, 34, 2}) == "upgrade.ready\nupgrade.quorum (warning)\n");
  two.node("cp2").upgrade = "keep";
  CHECK(two.judged({1, 34, 2}) == "upgrade.quorum (warning)\n");
  CHECK(World(4, 1, "v1.34.1").judged({1, 34, 2}).empty());
  World lost(3, 0, "v1.34.1");
  for (const char* name : {"cp2", "cp3"}) {
    lost.node(name).conditions["Ready"].status = "Unknown";
    lost.node(name).upgrade = "keep";
  }
  CHECK(lost.judged({1, 34, 2}) == "upgrade.quorum\n");
  World partial(3, 1, "v1.34.1");
  partial.cluster.hosts.erase(partial.cluster.hosts.begin() + 1);
  CHECK(partial.judged({1, 34, 2}) == "upgrade.hosts\n");
  World unknown(1, 1, "v1.34.1");
  unknown.facts.nodes->pop_back();
  CHECK(unknown.judged({1, 34, 2}) == "upgrade.hosts\n");
}

TEST_CASE("upgrade: a pod that nobody would start again, where its node is drained") {
  World world(1, 1, "v1.34.1");
  facts::Pod pod;
  pod.ns = "default", pod.name = "notebook", pod.node = "w1", pod.phase = "Running";
  world.facts.pods->push_back(pod);
  CHECK(world.judged({1, 34, 2}) == "upgrade.pods\n");
  world.node("w1").kubelet = "v1.34.2";  // it is behind that
  CHECK(world.judged({1, 34, 2}).empty());
  world.node("w1").kubelet = "v1.34.1";
  world.facts.pods->back().phase = "Succeeded";
  CHECK(world.judged({1, 34, 2}).empty());
  World alone(1, 0, "v1.34.1");
  pod.node = "cp1";
  alone.facts.pods->push_back(pod);
  CHECK(!checks::drains(alone.facts));
  CHECK(alone.judged({1, 34, 2}).empty());
}

TEST_CASE("upgrade: Docker has no way beyond 1.23, and removed APIs are named") {
  World world(1, 0, "v1.23.17");
  world.facts.deprecated_apis = {"policy/v1beta1 podsecuritypolicies 1.25", "batch/v1beta1 cronjobs 1.24"};
  CHECK(world.judged({1, 24, 17}) == "upgrade.apis (warning)\n");
  world.node("cp1").runtime = "docker://20.10.24";
  CHECK(world.judged({1, 23, 17}).empty());
  CHECK(world.judged({1, 24, 17}) == "upgrade.runtime\nupgrade.apis (warning)\n");
}

TEST_CASE("upgrade: control planes one by one, then workers as many as may be away") {
  using Order = std::vector<std::vector<std::string>>;
  const World world(3, 5, "v1.34.1");
  CHECK(checks::upgrade_order(world.cluster, 2) ==
        Order{{"cp1"}, {"cp2"}, {"cp3"}, {"w1", "w2"}, {"w3", "w4"}, {"w5"}});
  CHECK(checks::upgrade_order(world.cluster, 1).size() == 8);
}

TEST_CASE("upgrade: not to a kube-scheduler that DeviceTaintRules break while one exists") {
  World world(3, 2, "v1.35.4");
  CHECK(world.judged({1, 36, 2}).empty());
  world.facts.taint_rules.emplace();
  CHECK(world.judged({1, 36, 2}).empty());
  world.facts.taint_rules->push_back({.name = "gpuadm-one"});
  CHECK(world.judged({1, 36, 0}) == "upgrade.taint-rules\n");
  CHECK(world.judged({1, 36, 2}) == "upgrade.taint-rules\n");
  CHECK(world.judged({1, 36, 3}).empty());
  CHECK(world.judged({1, 35, 5}).empty());
}

namespace {

/// A cluster of three control-plane nodes with members of etcd of these versions; an empty one does not
/// respond.
World with_members(const std::string& kubernetes, const std::vector<std::string>& versions) {
  World world(3, 0, kubernetes);
  world.facts.etcd_members.emplace();
  for (const std::string& version : versions) {
    facts::EtcdMember member;
    member.name = fmt::format("cp{}", world.facts.etcd_members->size() + 1);
    member.answers = !version.empty();
    member.version = version;
    world.facts.etcd_members->push_back(member);
  }
  return world;
}

}  // namespace

TEST_CASE("upgrade: to 1.37 every member of etcd is 3.6.11 or newer, and unknown is not fine") {
  const auto judged = [](const std::string& from, const std::vector<std::string>& members) {
    return with_members(from, members).judged({1, 37, 1});
  };
  CHECK(judged("v1.36.4", {"3.6.11", "3.6.12", "3.6.11"}).empty());
  CHECK(judged("v1.36.3", {"3.6.8", "3.6.8", "3.6.8"}) == "upgrade.etcd\n");
  CHECK(judged("v1.36.4", {"3.6.11", "3.6.8", "3.6.11"}) == "upgrade.etcd\n");
  CHECK(judged("v1.36.4", {"3.6.11", "3.6.11", ""}) == "upgrade.etcd\n");
  CHECK(judged("v1.36.4", {"3.6.11", "3.6.11", "new"}) == "upgrade.etcd\n");
  CHECK(judged("v1.36.4", {"3.6.10", "3.6.11", ""}) == "upgrade.etcd\nupgrade.etcd\n");
  CHECK(judged("v1.36.4", {}) == "upgrade.etcd\n");
  CHECK(World(3, 0, "v1.36.4").judged({1, 37, 1}) == "upgrade.etcd\n");
  // kubeadm leaves an etcd outside of the cluster as it is.
  World outside(3, 0, "v1.36.4");
  outside.facts.pods->clear();
  CHECK(outside.judged({1, 37, 1}).empty());
  // An interrupted upgrade is continued, and a patch of 1.37 does not depend on what could not be read.
  CHECK(judged("v1.37.0", {"3.7.0", "3.6.11", "3.6.11"}).empty());
  CHECK(World(3, 0, "v1.37.0").judged({1, 37, 1}).empty());
  // Of 1.36 the patch with the newer etcd is reached from every other one.
  CHECK(with_members("v1.36.3", {"3.6.8", "3.6.8", "3.6.8"}).judged({1, 36, 4}).empty());

  const World old = with_members("v1.36.3", {"3.6.8", "3.6.11", "3.6.9"});
  const auto findings =
      checks::examine_upgrade({old.cluster, old.census, old.facts, {1, 37, 1}}, *repository_data());
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].message == "etcd 3.7 of Kubernetes 1.37 requires members of 3.6.11 or newer");
  CHECK(findings[0].evidence == "cp1 3.6.8, cp3 3.6.9");
  CHECK(findings[0].remedy.text().ends_with("gpuadm upgrade --kubernetes-version 1.36"));
}

TEST_CASE("upgrade: each pair of minor versions is judged as its row says") {
  const auto data = repository_data();
  REQUIRE(data->minors.size() >= 18);
  CHECK(data->minors.begin()->first == Version{1, 20, -1});
  CHECK(data->minors.rbegin()->first == Version{1, 37, -1});
  for (auto next = std::next(data->minors.begin()); next != data->minors.end(); ++next) {
    const auto& [from, before] = *std::prev(next);
    const auto& [to, row] = *next;
    CAPTURE(to.text());
    const Version target{to.major, to.minor, 9};
    const std::string running = fmt::format("v{}.{}.9", from.major, from.minor);
    const std::string name = row.is_strict ? "upgrade.etcd\n" : "upgrade.etcd (warning)\n";
    CHECK((row.etcd_before.has_value()) == (row.etcd_before && row.etcd != before.etcd));
    const std::string enough = row.etcd_before ? row.etcd_before->text() : before.etcd.text() + ".0";
    CHECK(with_members(running, {enough, enough, enough}).judged(target).empty());
    const std::string oldest = before.etcd.text() + ".1";
    CHECK(with_members(running, {enough, oldest, enough}).judged(target) == (row.etcd_before ? name : ""));
    CHECK(World(3, 0, running).judged(target) == (row.etcd_before ? name : ""));
    World lagging = with_members(running, {enough, enough, enough});
    lagging.add("w1", spec::Role::worker);
    lagging.node("w1").kubelet = fmt::format("v1.{}.9", to.minor - row.kubelet_lag);
    CHECK(lagging.judged(target).empty());
    lagging.node("w1").kubelet = fmt::format("v1.{}.9", to.minor - row.kubelet_lag - 1);
    CHECK(lagging.judged(target) == "upgrade.skew\n");
  }
}
