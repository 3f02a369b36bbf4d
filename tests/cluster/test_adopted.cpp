#include "gpuadm/base/files.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/cluster/adopted.hpp"

#include "case_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace {

namespace fs = std::filesystem;

base::Tree usual() {
  const auto tree = base::yaml::read(case_text(GPUADM_TESTS_DIR "/../data/kubeadm-usual.yaml"), "usual");
  REQUIRE(tree.has_value());
  return *tree;
}

/// One control plane, as the three scripts that read it have printed.
cluster::Found found_in(const fs::path& folder) {
  cluster::Found found;
  found.asked = *spec::single("192.0.2.1");
  found.asked.hosts.front().endpoint.user = "admin";
  found.plane = found.asked.hosts.front().name;
  found.census.emplace(found.plane, facts::parse(case_text(folder / "probe.txt")));
  if (fs::exists(folder / "cluster.txt"))
    found.view = *facts::parse_cluster(case_text(folder / "cluster.txt"));
  found.made = *facts::parse_made(case_text(folder / "adopt.txt"));
  return found;
}

cluster::Found by_hand() {
  return found_in(GPUADM_TESTS_DIR "/cases/adopt/by-hand");
}

bool message(const cluster::Adopted& adopted, std::string_view path, std::string_view part) {
  return std::ranges::any_of(adopted.notes, [&](const auto& note) {
    return note.path == path && note.message.find(part) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("the state of a cluster gives the cluster file next to it") {
  for (const auto& entry : fs::directory_iterator(GPUADM_TESTS_DIR "/cases/adopt")) {
    CAPTURE(entry.path().filename().string());
    const std::string got = cluster::to_file(cluster::read_back(found_in(entry.path()), usual()));
    if (std::getenv("GPUADM_REWRITE_CASES"))
      REQUIRE(base::write_file(entry.path() / "expected.yaml", got, 0644));
    CHECK(got == case_text(entry.path() / "expected.yaml"));
    const auto parsed = spec::parse(got, "expected.yaml");
    CHECK_MESSAGE(parsed.has_value(), (parsed ? "" : parsed.error().what));
  }
}

TEST_CASE("nodes that nobody named are taken from the API server, with the login of the first host") {
  cluster::Found found = by_hand();
  REQUIRE(found.view->nodes);
  CHECK(cluster::other_nodes(found).empty());
  facts::Node other;
  other.name = "gpu1";
  other.address = "192.0.2.9";
  found.view->nodes->push_back(other);
  other.name = "-x";  // no name for a host
  found.view->nodes->push_back(other);
  other.name = "gpu2";
  other.address = "192.0.2.9; reboot";
  found.view->nodes->push_back(other);
  const auto others = cluster::other_nodes(found);
  REQUIRE(others.size() == 1);
  CHECK(others.front().name == "gpu1");
  CHECK(others.front().endpoint.address == "192.0.2.9");
  CHECK(others.front().endpoint.user == "admin");
}

TEST_CASE("what a worker's kubelet has of its own is said, since the file has one for all hosts") {
  cluster::Found found = by_hand();
  facts::Node node = found.view->nodes->front();
  node.name = "gpu1";
  node.address = "192.0.2.9";
  found.view->nodes->push_back(node);
  facts::Facts worker = *found.census.at(found.plane);
  worker.machine.hostname = "gpu1";
  worker.kubernetes.admin_conf = false;
  found.asked.hosts.push_back(spec::single("192.0.2.9")->hosts.front());
  found.census.emplace("192.0.2.9", worker);
  const auto notes_of_worker = [&] {
    return std::ranges::count_if(cluster::read_back(found, usual()).notes,
                                 [](const auto& note) { return note.path == "hosts[1]"; });
  };
  CHECK(notes_of_worker() == 0);
  auto& kubernetes = found.census.at("192.0.2.9")->kubernetes;
  REQUIRE(kubernetes.kubelet_config);
  kubernetes.kubelet_config->set("maxPods", 250);
  kubernetes.kubelet_flags += " --node-ip=192.0.2.9";
  CHECK(message(
      cluster::read_back(found, usual()), "hosts[1]",
      "its kubelet differs from 192.0.2.1: --node-ip=192.0.2.9, maxPods; the file has one setting for "
      "all hosts"));
}

TEST_CASE("an unreachable host is in the file, with the reason") {
  cluster::Found found = by_hand();
  facts::Node node;
  node.name = node.address = "gpu1";
  node.labels = {{"zone", "a"},
                 {"kubernetes.io/arch", "amd64"},
                 {"nvidia.com/gpu.count", "8"},
                 {"notnvidia.com/x", "y"}};
  found.view->nodes->push_back(node);
  for (spec::Host& host : cluster::other_nodes(found)) found.asked.hosts.push_back(host);
  found.gone["gpu1"] = "no route";
  found.census.emplace("gpu1", base::fail(base::Fault::unreachable, "no route"));
  const auto adopted = cluster::read_back(found, usual());
  REQUIRE(adopted.cluster.hosts.size() == 2);
  CHECK(adopted.cluster.hosts[1].role == spec::Role::worker);
  CHECK(adopted.cluster.hosts[1].labels ==
        std::map<std::string, std::string>{{"notnvidia.com/x", "y"}, {"zone", "a"}});
  CHECK(message(adopted, "hosts[1]", "no route"));
  CHECK(cluster::to_file(adopted).find("  # unreachable: no route\n  - name: gpu1\n") != std::string::npos);
}

TEST_CASE("what gpuadm has kept goes before what is read; damage is said") {
  cluster::Found found = by_hand();
  found.made->intent =
      "apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nname: lab\nnetwork: { plugin: bridge }\n";
  CHECK(cluster::read_back(found, usual()).cluster.name == "lab");
  CHECK(cluster::read_back(found, usual()).cluster.network.plugin == spec::NetworkPlugin::bridge);
  found.made->intent = "name: [";
  const auto adopted = cluster::read_back(found, usual());
  CHECK(adopted.cluster.name == "kubernetes");
  CHECK(message(adopted, "", "damaged"));
}

TEST_CASE("where no API server answers, networks are those of the flags") {
  cluster::Found found = by_hand();
  found.made->cluster_configuration = {};
  found.view.reset();
  found.made->flags["kube-controller-manager"]["cluster-cidr"] = "10.9.0.0/16,fd00::/48";
  const auto adopted = cluster::read_back(found, usual());
  CHECK(adopted.cluster.network.pod_cidr == "10.9.0.0/16");
  CHECK(adopted.cluster.kubernetes.version->text() == "1.20.2");
  CHECK(message(adopted, "network", "dual-stack"));
  CHECK(message(adopted, "", "kubeadm's configuration could not be read"));
}

TEST_CASE("what is unset or usual is left out") {
  const auto found = *base::yaml::read(
      "a: 1\nb: { c: 0s, d: x }\ne: null\nf: [1]\ng: 0\nh: /run/x\ni: {}\nj: false\nk: true\nl: false",
      "found");
  const auto usual = *base::yaml::read("a: 1\nb: { d: y }\nh: [/run/x, /run/y]\nk: false\nl: true", "usual");
  CHECK(cluster::beyond_usual(found, usual) ==
        *base::yaml::read("b: { d: x }\nf: [1]\ng: 0\nk: true\nl: false", "expected"));
}

TEST_CASE("hostile answers make no cluster file that says something else") {
  cluster::Found found = by_hand();
  found.made->cluster_configuration.set("clusterName", "a\nhosts: []");
  found.made->damaged.push_back("x\n- evil");
  found.view->nodes->front().labels["a"] = "b\nc: d";
  const std::string text = cluster::to_file(cluster::read_back(found, usual()));
  CHECK(text.find("\nhosts: []") == std::string::npos);
  CHECK(text.find("\n- evil") == std::string::npos);
  CHECK(text.find("\nc: d") == std::string::npos);
}
