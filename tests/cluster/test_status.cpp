#include "gpuadm/cluster/status_show.hpp"
#include "gpuadm/report/columns.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

constexpr double clock_there = 1'000'000;

spec::Host host(const std::string& name, spec::Role role) {
  spec::Host host;
  host.name = name;
  host.role = role;
  host.endpoint.address = name;
  return host;
}

facts::Facts facts_of(const std::string& name) {
  facts::Facts facts;
  facts.machine.hostname = name;
  facts.clock.probe_begin = clock_there;
  facts.kubernetes.kubelet_conf = true;
  facts.kubernetes.cni_configs = {"10-gpuadm.conflist"};
  facts.software.units["kubelet.service"].active = "active";
  return facts;
}

facts::Facts plane_of(const std::string& name) {
  facts::Facts facts = facts_of(name);
  auto& kubernetes = facts.kubernetes;
  kubernetes.admin_conf = true;
  kubernetes.admin_server = "https://192.0.2.1:6443";
  kubernetes.certificates = {{{"/etc/kubernetes/pki/ca.crt", clock_there + 3650 * 86400.0},
                              {"/etc/kubernetes/pki/apiserver.crt", clock_there + 300 * 86400.0}}};
  auto& parts = kubernetes.components.emplace();
  for (const char* part : {"kube-apiserver", "kube-controller-manager", "kube-scheduler"})
    parts.push_back({part, 0, "ok"});
  parts.push_back({"etcd", 0, R"({"health":"true"})"});
  return facts;
}

facts::Node node(const std::string& name, bool plane) {
  facts::Node node;
  node.name = name;
  node.kubelet = "v1.33.4";
  node.runtime = "containerd://1.7.24-1";
  node.conditions["Ready"] = {"True", "KubeletReady"};
  if (plane) node.labels["node-role.kubernetes.io/control-plane"] = "";
  return node;
}

/// One control plane and one worker, both well.
struct StatusWorld {
  spec::Cluster cluster;
  facts::Census census;
  std::optional<facts::ClusterFacts> view;

  StatusWorld() {
    cluster.name = "lab";
    cluster.hosts = {host("cp", spec::Role::control_plane), host("gpu", spec::Role::worker)};
    census.emplace("cp", plane_of("cp"));
    census.emplace("gpu", facts_of("gpu"));
    facts::ClusterFacts& facts = view.emplace();
    facts.clock = clock_there;
    facts.ready_status = 0;
    facts.version = "v1.33.4";
    facts.pods.emplace();
    facts.nodes = {{node("cp", true), node("gpu", false)}};
    facts.leases = {{{"cp", clock_there - 3}, {"gpu", clock_there - 90}}};
    facts.daemon_sets = {{{"kube-system", "kube-proxy", 2, 2, {}}}};
    facts.etcd_members = {{{"cp", "https://192.0.2.1:2379", true, "3.5.15", true, true, 4096, {}}}};
  }
  [[nodiscard]] cluster::Status status() const {
    return cluster::status_of({cluster, census, view, "cp"}, {});
  }
};

bool message(const cluster::Status& status, const std::string& where, const std::string& what) {
  return std::ranges::any_of(status.verdict.problems, [&](const cluster::Problem& problem) {
    return problem.where == where && problem.what.find(what) != std::string::npos;
  });
}

facts::Facts& facts_in(StatusWorld& world, const std::string& name) {
  return *world.census.at(name);
}

}  // namespace

TEST_CASE("a cluster that is well is said to be, in 80 columns") {
  const cluster::Status status = StatusWorld().status();
  CHECK(status.verdict.problems.empty());
  REQUIRE(status.nodes.size() == 2);
  CHECK(status.nodes[0].role == "control-plane");
  CHECK(status.nodes[1].lease_age == 90.0);
  REQUIRE(status.planes.size() == 1);
  CHECK(status.planes[0].part("etcd").message == "leads");
  CHECK(status.planes[0].certificate == "/etc/kubernetes/pki/apiserver.crt");
  const std::string text = to_text(status, cluster::Width::terminal);
  CHECK(text.find("Cluster is healthy") != text.npos);
  CHECK(text.find("containerd 1.7.24") != text.npos);
}

TEST_CASE("what is wrong with a node is said once, by who knows it best") {
  StatusWorld world;
  (*world.view->nodes)[1].conditions["Ready"] = {"Unknown", "NodeStatusUnknown"};
  (*world.view->nodes)[1].message = "Kubelet stopped posting node status.";
  CHECK(message(world.status(), "gpu", "Kubelet stopped posting"));
  facts_in(world, "gpu").software.units["kubelet.service"].active = "failed";
  const cluster::Status stopped = world.status();
  CHECK(message(stopped, "gpu", "the kubelet is not running (failed"));
  CHECK(stopped.verdict.problems.size() == 1);
  world.census.at("gpu") = base::fail(base::Fault::unreachable, "gpu: no route to host");
  const cluster::Status unreached = world.status();
  CHECK(message(unreached, "gpu", "no route to host; its node is not ready"));
  CHECK(unreached.verdict.problems.size() == 1);
  CHECK(unreached.nodes[1].host == "gpu");
}

TEST_CASE(
    "an upgrade and a reset of a GPU that are not complete are named, with the command that completes them") {
  StatusWorld world;
  facts::Node& gpu = (*world.view->nodes)[1];
  gpu.unschedulable = true;
  gpu.gpu_reset = "GPU-00112233-4455-6677-8899-aabbccddeeff 0000:01:00.0 uncordon";
  gpu.upgrade = "uncordon";
  const cluster::Status status = world.status();
  CHECK(message(status, "gpu", "the reset of GPU 0000:01:00.0 is not complete"));
  CHECK(message(status, "gpu", "the upgrade of the node is not complete"));
  CHECK(std::ranges::any_of(status.verdict.problems, [](const cluster::Problem& problem) {
    return problem.remedy.starts_with("gpuadm gpu reset gpu 0000:01:00.0");
  }));
  gpu.gpu_reset = "\x1b[2J";
  CHECK(message(world.status(), "gpu", "is not one that gpuadm writes"));
}

TEST_CASE("a part of the control plane that is down is named, and so is one without a manifest") {
  StatusWorld world;
  auto& kubernetes = facts_in(world, "cp").kubernetes;
  (*kubernetes.components)[2] = {"kube-scheduler", 1, "The connection to the server was refused"};
  kubernetes.components->erase(kubernetes.components->begin() + 1);
  const cluster::Status status = world.status();
  CHECK(message(status, "cp", "kube-scheduler does not answer"));
  CHECK(message(status, "cp", "kube-controller-manager has no manifest"));
  CHECK(status.verdict.problems.size() == 2);
}

TEST_CASE("a control plane that cannot be reached is judged by what the others say of it") {
  StatusWorld world;
  world.cluster.hosts.push_back(host("cp2", spec::Role::control_plane));
  world.census.emplace("cp2", base::fail(base::Fault::timeout, "cp2: no answer"));
  world.view->nodes->push_back(node("cp2", true));
  world.view->nodes->back().conditions["Ready"] = {"Unknown", "NodeStatusUnknown"};
  world.view->etcd_members->push_back({"cp2", "https://192.0.2.2:2379", false, "", false, false, 0, {}});
  const cluster::Status status = world.status();
  REQUIRE(status.planes.size() == 2);
  CHECK(status.planes[1].part("etcd").message == "does not answer");
  CHECK(message(status, "cp2", "kube-apiserver is on a node that is not ready"));
  CHECK(message(status, "cp2", "the etcd member cp2 does not answer"));
  CHECK(message(status, "the cluster", "etcd has 1 of 2 members and needs 2"));
}

TEST_CASE("certificates that end soon, a silent API server and a missing network are reported") {
  StatusWorld world;
  facts_in(world, "cp")
      .kubernetes.certificates->push_back({"/etc/kubernetes/admin.conf", clock_there - 86400.0});
  facts_in(world, "gpu").kubernetes.cni_configs.clear();
  world.view->ready_status = 1;
  world.view->nodes.reset();
  const cluster::Status status = world.status();
  CHECK(message(status, "cp", "/etc/kubernetes/admin.conf expired 1 days ago"));
  CHECK(message(status, "gpu", "no network plugin is configured"));
  CHECK(message(status, "the cluster", "https://192.0.2.1:6443 does not answer"));
}

TEST_CASE("without a view of the cluster, its state is unknown") {
  StatusWorld world;
  world.view.reset();
  CHECK(to_text(world.status(), cluster::Width::any)
            .starts_with("Cluster lab at https://192.0.2.1:6443: the state is unknown: no control-plane node "
                         "has described the cluster\n"));
  world.census.at("cp") = base::fail(base::Fault::unreachable, "cp: no route to host");
  const cluster::Status unreached = world.status();
  CHECK(unreached.verdict.problems.size() == 1);
  CHECK(message(unreached, "cp", "no route to host"));
  CHECK(to_text(unreached, cluster::Width::any)
            .starts_with("Cluster lab: the state is unknown: no control-plane node is reachable\n"));
}

TEST_CASE("GPUs that the driver or the node has lost are not well") {
  StatusWorld world;
  facts::Facts& gpu = facts_in(world, "gpu");
  gpu.nvidia.pci_gpus.resize(2);
  gpu.nvidia.pci_gpus[0].slot = "0000:01:00.0";
  gpu.nvidia.pci_gpus[1].slot = "0000:02:00.0";
  gpu.nvidia.gpus.resize(1);
  gpu.nvidia.gpus[0].bus_id = "0000:01:00.0";
  (*world.view->nodes)[1].allocatable["nvidia.com/gpu"] = "1";
  facts::Pod pod;
  pod.ns = "default";
  pod.name = "trainer";
  pod.node = "gpu";
  pod.phase = "Running";
  pod.gpus["nvidia.com/gpu"] = 1;
  world.view->pods = {{pod}};
  cluster::Status status = world.status();
  CHECK(message(status, "gpu", "2 GPUs are on the PCI bus, but the driver has 1"));
  REQUIRE(status.gpu_hosts.size() == 1);
  CHECK(status.gpu_hosts[0].used == 1);
  CHECK(status.gpu_hosts[0].pods == std::vector<std::string>{"default/trainer"});
  gpu.nvidia.gpus.resize(2);
  gpu.nvidia.gpus[1].bus_id = "0000:02:00.0";
  CHECK(message(world.status(), "gpu", "the driver has 2 GPUs, but pods can use 1"));
}

TEST_CASE("text for a terminal never has more than 80 columns, whatever names there are") {
  StatusWorld world;
  const std::string name(70, 'n');
  world.cluster.hosts[0].name = name;
  world.census.clear();
  world.census.emplace(name, plane_of(name));
  world.census.emplace("gpu", base::fail(base::Fault::unreachable, "gpu: " + std::string(30, 'x') + " y z"));
  (*world.view->nodes)[0].name = name;
  const std::string text = to_text(world.status(), cluster::Width::terminal);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    const bool is_one_to_copy = line.find("do: ") != line.npos;
    if (line.find(name) == line.npos && !is_one_to_copy) CHECK_MESSAGE(line.size() <= 80, line);
    at = end + 1;
  }
}

TEST_CASE("columns are as wide as their cells, and shrink where they may") {
  CHECK(report::columns({{"A", "B"}, {"long", "x"}}) == "A     B\nlong  x\n");
  using report::Overflow;
  CHECK(report::columns({{std::string(20, 'a'), "b"}}, 15, {0}, Overflow::truncated) == "aaaaaaaaa...  b\n");
  CHECK(report::columns({{std::string(20, 'a'), "b"}}, 15, {0}) == "aaaaaaaaaaaa  b\naaaaaaaa\n");
  CHECK(report::columns({{"x", "one two three"}}, 11, {1}) == "x  one two\n   three\n");
  CHECK(report::columns({{"défaut", "x"}, {"défaute", "y"}}) == "défaut   x\ndéfaute  y\n");
  CHECK(report::columns({{"ééééééééééééééééé", "b"}}, 15, {0}, Overflow::truncated) == "ééééééééé...  b\n");
  CHECK(report::columns({{"ééééééééééééééééé", "b"}}, 15, {0}) == "éééééééééééé  b\nééééé\n");
  CHECK(report::columns({{"NAME", "STATE", "NODE"}, {"a-long-name", "not ready: no image", "a-node"}}, 24,
                        {1}) == "a-long-name\n  STATE  not ready: no\n         image\n  NODE   a-node\n");
}

TEST_CASE("without the pods, the number of GPUs in use is unknown, and the state is unknown") {
  StatusWorld world;
  facts::Facts& gpu = facts_in(world, "gpu");
  gpu.nvidia.pci_gpus.resize(1);
  gpu.nvidia.gpus.resize(1);
  (*world.view->nodes)[1].allocatable["nvidia.com/gpu"] = "1";
  world.view->pods.reset();
  const cluster::Status status = world.status();
  CHECK(status.verdict.health() == cluster::Health::unknown);
  CHECK(!status.gpu_hosts.front().used);
  const std::string text = to_text(status, cluster::Width::terminal);
  CHECK(text.find("Cluster is healthy") == text.npos);
  CHECK(text.find("nobody") == text.npos);
  CHECK(text.find("the cluster: not read: pods could not be read from the API server") != text.npos);
}

TEST_CASE("a component that was not queried on its machine is what the API server sees of its pod") {
  StatusWorld world;
  auto& kubernetes = facts_in(world, "cp").kubernetes;
  kubernetes.components.reset();
  kubernetes.manifests = {"kube-apiserver.yaml", "kube-controller-manager.yaml", "kube-scheduler.yaml",
                          "etcd.yaml"};
  cluster::Status status = world.status();
  REQUIRE(status.verdict.unread.size() == 1);
  CHECK(status.verdict.unread.front().where == "cp");
  CHECK(status.verdict.unread.front().what ==
        "kube-apiserver, kube-controller-manager, kube-scheduler has no pod");
  CHECK(status.verdict.health() == cluster::Health::unknown);
  for (const char* name : {"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"}) {
    facts::Pod pod;
    pod.ns = "kube-system";
    pod.name = std::string(name) + "-cp";
    pod.node = "cp";
    pod.phase = "Running";
    pod.ready = "True";
    world.view->pods->push_back(pod);
  }
  CHECK(to_text(world.status().verdict) == "Cluster is healthy");
  world.view->pods->back().ready = "False";
  world.view->etcd_members.reset();
  CHECK(message(world.status(), "cp", "etcd is not ready"));
  // An etcd that gpuadm does not manage is not one that could not be read.
  kubernetes.manifests.pop_back();
  CHECK(to_text(world.status().verdict) == "Cluster is healthy");
}

TEST_CASE("without the claims, GPUs that are allocated by claims are not free") {
  StatusWorld world;
  facts::Facts& host = facts_in(world, "gpu");
  host.nvidia.pci_gpus.resize(1);
  host.nvidia.gpus.resize(1);
  facts::ResourceSlice slice;
  slice.driver = "gpu.nvidia.com";
  slice.node = "gpu";
  slice.devices.resize(1);
  slice.devices.front().name = "gpu-0";
  slice.devices.front().type = "gpu";
  world.view->slices = {{slice}};
  world.view->resource_claims.emplace();
  REQUIRE(world.status().gpu_hosts.size() == 1);
  CHECK(world.status().gpu_hosts.front().used == 0);
  CHECK(world.status().verdict.unread.empty());
  world.view->resource_claims.reset();
  CHECK(!world.status().gpu_hosts.front().used);
  CHECK(world.status().verdict.health() != cluster::Health::well);
  CHECK(world.status().verdict.unread.front().what.find("resourceclaims") != std::string::npos);
}
