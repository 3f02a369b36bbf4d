#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/checks/chain.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <set>

// A case is tests/cases/chain/<what it shows>.yaml; the README next to them describes the format.

namespace {

namespace fs = std::filesystem;
using base::Tree;
using checks::GpuNode;
using checks::Link;

std::int64_t number(const Tree& tree, const char* key, std::int64_t otherwise) {
  const Tree* value = tree.find(key);
  return value ? value->as_int().value_or(otherwise) : otherwise;
}

GpuNode node_of(const Tree& tree) {
  GpuNode made{.host = "one", .node = "one"};
  made.counted = static_cast<int>(number(tree, "gpus", 1));
  made.shares = static_cast<int>(number(tree, "shares", 1));
  made.allocatable = number(tree, "allocatable", made.counted);
  made.held = number(tree, "held", 0);
  if (const Tree* claims = tree.find("claims")) made.claims = claims->text();
  if (const Tree* holders = tree.find("holders"))
    for (const Tree& one : holders->items()) made.holders.push_back(one.text());
  return made;
}

/// What playbooks/cluster.sh would have printed.
facts::Space seen_in(const Tree& test) {
  std::string text = "gpuadm-probe 1\n=== pods\n";
  for (const Tree& row : test.find("pods")->items())
    text += "| " + base::replace_all(row.text(), ";", "\t") + "\n";
  text += "? 0\n";
  if (const Tree* logs = test.find("logs"))
    for (const auto& [pod, lines] : logs->entries()) {
      text += "=== log/" + pod + "\n";
      for (const Tree& line : lines.items()) text += "| " + line.text() + "\n";
      text += "? 0\n";
    }
  auto ns = facts::parse_ns(text + "=== end\n");
  REQUIRE(ns.has_value());
  return *ns;
}

void check_contains(const Tree& expect, const char* key, const std::string& got) {
  if (const Tree* want = expect.find(key))
    CHECK_MESSAGE(got.find(want->text()) != std::string::npos, fmt::format("{}: {}", key, got));
}

/// What the doctor found on the host of Site; without an id.
report::Finding blocker(const char* message) {
  report::Finding fault;
  fault.host = "one";
  fault.severity = report::Severity::blocker;
  fault.message = message;
  return fault;
}

}  // namespace

TEST_CASE("what pods of the chain come to is judged as the cases say") {
  const auto floors = checks::read_floors(
      [](std::string_view path) { return base::read_file(fs::path(GPUADM_SOURCE_DIR) / path); });
  REQUIRE(floors.has_value());
  std::set<std::string> verdicts;
  for (const auto& entry : fs::directory_iterator(fs::path(GPUADM_TESTS_DIR) / "cases/chain")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().string());
    const auto test = base::yaml::read(*base::read_file(entry.path()), entry.path().string());
    REQUIRE_MESSAGE(test.has_value(), (test ? "" : test.error().what));
    const Link link = *checks::link_named(test->find("link")->text());
    const GpuNode node = node_of(*test->find("node"));
    checks::PodTest pod_test = checks::pod_test_of(link, node, 0);
    pod_test.rounds = static_cast<std::size_t>(number(*test, "rounds", 1));
    const facts::Space seen = seen_in(*test);
    CHECK(checks::is_decided(pod_test, seen) == test->find("settled")->as_bool());
    const report::Finding finding = checks::examine_pod_test(pod_test, node, seen, *floors);
    const Tree& expect = *test->find("expect");
    CHECK_MESSAGE(report::name_of(finding.verdict) == expect.find("verdict")->text(),
                  fmt::format("{}: {}", finding.message, finding.evidence));
    check_contains(expect, "message", finding.message);
    check_contains(expect, "evidence", finding.evidence);
    check_contains(expect, "remedy", finding.remedy);
    verdicts.insert(fmt::format("{} {}", test->find("link")->text(), report::name_of(finding.verdict)));
  }
  for (const Link link : {Link::scheduling, Link::pod, Link::compute, Link::reload})
    for (const char* verdict : {"pass", "fail"}) {
      CAPTURE(checks::name_of(link));
      CHECK(verdicts.contains(fmt::format("{} {}", checks::name_of(link), verdict)));
    }
}

TEST_CASE("a test requests the free GPUs: one pod more than there are, or all of them in one pod") {
  GpuNode node{.host = "one", .node = "one", .counted = 8, .allocatable = 8, .held = 3};
  CHECK(checks::pod_test_of(Link::scheduling, node, 0).pods == 6);
  CHECK(checks::pod_test_of(Link::compute, node, 0).pods == 1);
  CHECK(checks::pod_test_of(Link::compute, node, 0).gpus == 5);
  CHECK(checks::pod_test_of(Link::pod, node, 7).prefix == "pod-7-");
  node.held = 8;
  CHECK(checks::pod_test_of(Link::scheduling, node, 0).pods == 1);
  CHECK(checks::pod_test_of(Link::compute, node, 0).pods == 0);
  CHECK(checks::pod_test_of(Link::compute, node, 0).why_none.starts_with("all of its GPUs are held"));
  node.held = 0;
  node.mig = true;
  CHECK(checks::pod_test_of(Link::compute, node, 0).pods == 8);
  CHECK(checks::pod_test_of(Link::compute, node, 0).gpus == 1);
  node.allocatable = 0;
  CHECK(checks::pod_test_of(Link::scheduling, node, 0).pods == 0);
}

TEST_CASE("where GPUs are claimed, a node offers the devices of its slices, and claims hold them") {
  spec::Cluster cluster;
  cluster.gpu.allocator = spec::Allocator::dra;
  facts::Facts host;
  host.machine.hostname = "one";
  host.nvidia.gpus.resize(2);
  facts::Census census;
  census.emplace("one", host);
  facts::ClusterFacts facts;
  facts::Node node;
  node.name = "one";
  facts.nodes = {{node}};
  facts.dra_versions = {{"v1beta1", "v1beta2"}};
  facts.slices = {
      {{"gpu.nvidia.com", "one", "one", {{"gpu-0", "gpu", "GPU-a", ""}, {"gpu-1", "gpu", "GPU-b", ""}}}}};
  facts.resource_claims = {{{"ml", "one", {{"gpu.nvidia.com", "one", "gpu-0"}}, {"trainer"}},
                            {"gpuadm-verify", "pod-0-0", {{"gpu.nvidia.com", "one", "gpu-1"}}, {"pod-0-0"}}}};
  facts.runtime_classes = {{{"nvidia", "nvidia"}}};
  const auto nodes = checks::gpu_nodes(cluster, census, facts);
  REQUIRE(nodes.size() == 1);
  CHECK(nodes.front().claims == "v1beta2");
  CHECK(nodes.front().allocatable == 2);
  CHECK(nodes.front().held == 1);
  CHECK(nodes.front().holders == std::vector<std::string>{"ml/trainer"});
  CHECK(nodes.front().runtime_class.empty());
  const checks::PodTest pod_test = checks::pod_test_of(Link::scheduling, nodes.front(), 0);
  CHECK(pod_test.pods == 2);
  CHECK(pod_test.running == 1);
  const checks::ChainInputs inputs{cluster, census, facts, {}};
  report::Finding finding = checks::examine_link(Link::allocatable, nodes.front(), inputs);
  CHECK(finding.verdict == report::Verdict::pass);
  CHECK(finding.evidence == "2 devices of gpu.nvidia.com in ResourceSlices, for 2 GPUs");
  facts.resource_claims.reset();
  CHECK(checks::examine_link(Link::allocatable, nodes.front(), inputs).verdict == report::Verdict::fail);
  facts::Pod pod;
  pod.ns = "kube-system";
  pod.name = "nvidia-dra-driver-root-x7k2p";
  pod.owner = "DaemonSet";
  pod.node = "one";
  pod.phase = "Pending";
  pod.waiting = {"PodInitializing"};
  facts.pods = {{pod}};
  finding = checks::examine_link(Link::plugin, nodes.front(), inputs);
  CHECK(finding.verdict == report::Verdict::fail);
  CHECK(finding.evidence == "kube-system/nvidia-dra-driver-root-x7k2p: PodInitializing");
  facts.pods->front().phase = "Running";
  facts.pods->front().waiting.clear();
  CHECK(checks::examine_link(Link::plugin, nodes.front(), inputs).message ==
        "the DRA driver runs on the node");
  facts.pods->clear();
  CHECK(checks::examine_link(Link::plugin, nodes.front(), inputs).remedy ==
        "gpuadm init --phases gpu/labels,gpu/dra");
}

TEST_CASE("links have names, and an order that ends with what only pods show") {
  Link before = Link::network;
  for (const Link link : checks::all_links()) {
    CHECK(checks::link_named(checks::name_of(link)) == link);
    CHECK(before <= link);
    before = link;
  }
  CHECK(!checks::link_named("pods"));
  CHECK(!checks::needs_pods(Link::allocatable));
  CHECK(checks::needs_pods(Link::scheduling));
  CHECK(checks::needs_network_proof(Link::dns));
  CHECK(!checks::needs_network_proof(Link::driver));
}

namespace {

/// One host with two GPUs, its node, and the plugin's pod on it.
struct Site {
  spec::Cluster cluster = *spec::single("one");
  facts::Census census;
  facts::ClusterFacts facts;
  std::vector<report::Finding> findings;

  Site() {
    cluster.hosts.front().name = "one";
    facts::Facts host;
    host.machine.hostname = "one";
    host.nvidia.driver = facts::Driver{.version = "580.159.04", .open_modules = true};
    host.nvidia.gpus = {{.index = 0, .name = "NVIDIA H200"}, {.index = 1, .name = "NVIDIA H200"}};
    host.nvidia.smi_status = 0;
    host.runtime.containerd =
        facts::Containerd{.version = "1.7.24", .runtimes = {{"nvidia", true}}, .default_runtime = "runc"};
    census.emplace("one", std::move(host));
    facts.nodes = {
        {.name = "one", .allocatable = {{"nvidia.com/gpu", "2"}}, .runtime = "containerd://1.7.24"}};
    facts.pods = {{.ns = "kube-system",
                   .name = "nvidia-device-plugin-x",
                   .owner = "DaemonSet",
                   .node = "one",
                   .phase = "Running"}};
    facts.runtime_classes = std::map<std::string, std::string>{{"nvidia", "nvidia"}};
  }
  facts::Facts& host() { return *census.at("one"); }
  report::Finding see(Link link) {
    const auto nodes = checks::gpu_nodes(cluster, census, facts);
    REQUIRE(nodes.size() == 1);
    return checks::examine_link(link, nodes.front(), {cluster, census, facts, findings});
  }
};

}  // namespace

TEST_CASE("links that facts show hold on a node that is well, with their evidence") {
  Site site;
  const auto evidence = [&](Link link) {
    const report::Finding finding = site.see(link);
    CHECK(finding.verdict == report::Verdict::pass);
    return finding.evidence;
  };
  CHECK(evidence(Link::driver) == "580.159.04, open kernel modules");
  CHECK(evidence(Link::nvml) == "2 × NVIDIA H200");
  CHECK(evidence(Link::runtime) == "containerd 1.7.24 with the runtime nvidia");
  CHECK(evidence(Link::plugin) == "kube-system/nvidia-device-plugin-x runs");
  site.facts.pods->front().name = "nvidia-device-plugin-mps-2-x";
  CHECK(evidence(Link::plugin) == "kube-system/nvidia-device-plugin-mps-2-x runs");
  CHECK(evidence(Link::allocatable) == "2 nvidia.com/gpu, for 2 GPUs");
  CHECK(site.see(Link::cdi).verdict == report::Verdict::skip);
  site.host().nvidia.toolkit.cdi = {
      {.file = "/var/run/cdi/nvidia.yaml", .kind = "nvidia.com/gpu", .devices = {"0", "1", "all"}}};
  CHECK(evidence(Link::cdi) == "/var/run/cdi/nvidia.yaml names 3 devices");
  site.host().nvidia.gpus.pop_back();
  site.facts.nodes->front().allocatable = {{"nvidia.com/gpu", "1"}};
  CHECK(evidence(Link::allocatable) == "1 nvidia.com/gpu, for 1 GPU");
}

TEST_CASE("links that facts show are broken where something is missing") {
  const auto message = [](Link link, auto change) {
    Site site;
    change(site);
    const report::Finding finding = site.see(link);
    CHECK(finding.verdict == report::Verdict::fail);
    CHECK(finding.severity == report::Severity::blocker);
    return finding.message;
  };
  CHECK(message(Link::driver, [](Site& s) { s.host().nvidia.driver.reset(); }) ==
        "no NVIDIA driver is loaded");
  CHECK(message(Link::nvml, [](Site& s) { s.host().nvidia.gpus.clear(); }) ==
        "the driver answers for no GPU");
  CHECK(message(Link::nvml, [](Site& s) { s.host().nvidia.pci_gpus.resize(3); }) ==
        "the driver does not answer for every GPU");
  CHECK(message(Link::runtime, [](Site& s) { s.host().runtime.containerd->runtimes.clear(); }) ==
        "RuntimeClass nvidia has no runtime in the container runtime");
  CHECK(message(Link::plugin, [](Site& s) { s.facts.pods->clear(); }) ==
        "NVIDIA's device plugin has no pod on the node");
  CHECK(message(Link::plugin, [](Site& s) { s.facts.pods->front().waiting = {"CrashLoopBackOff"}; }) ==
        "the device plugin's pod on the node does not run");
  CHECK(message(Link::plugin, [](Site& s) {
          s.facts.pods->push_back({.ns = "kube-system",
                                   .name = "nvidia-mps-control-daemon-mps-2-x",
                                   .owner = "DaemonSet",
                                   .node = "one",
                                   .phase = "Running",
                                   .waiting = {"CrashLoopBackOff"}});
        }) == "the pod of MPS's control daemon on the node does not run");
  CHECK(message(Link::plugin, [](Site& s) {
          s.facts.pods->front().name = "nvidia-mps-control-daemon-mps-2-x";
        }) == "NVIDIA's device plugin has no pod on the node");
  CHECK(message(Link::plugin, [](Site& s) { s.facts.nodes->front().name = "other"; }) ==
        "the host is not a node of the cluster");
  CHECK(message(Link::allocatable, [](Site& s) {
          s.facts.nodes->front().allocatable["nvidia.com/gpu"] = "1";
        }) == "the node offers fewer GPUs than it has");
  CHECK(message(Link::allocatable, [](Site& s) {
          s.facts.nodes->front().allocatable["nvidia.com/gpu"] = "3";
        }) == "the node offers more GPUs than it has");
}

TEST_CASE("a blocker that a check found breaks the link that it belongs to, and no other") {
  Site site;
  report::Finding fault = blocker("it hangs");
  for (const auto& [id, link] : {std::pair{"gpu.driver.smi-runs", Link::nvml},
                                 {"gpu.driver.device-nodes", Link::driver},
                                 {"rt.containerd.disabled-cri", Link::runtime},
                                 {"nct.cdi-spec-stale", Link::cdi}}) {
    fault.id = id;
    site.findings = {fault};
    CAPTURE(id);
    for (const Link other : checks::all_links())
      if (!checks::needs_pods(other) && !checks::needs_network_proof(other))
        CHECK((site.see(other).message == "it hangs") == (other == link));
    CHECK(site.see(link).caused_by == id);
  }
  site.findings.front().severity = report::Severity::warning;
  CHECK(site.see(Link::cdi).message != "it hangs");
}

TEST_CASE("a container runtime that does not answer is found without a pod") {
  Site site;
  report::Finding fault = blocker("containerd does not run");
  const auto nodes = checks::gpu_nodes(site.cluster, site.census, site.facts);
  for (const auto& [id, blocks] : {std::pair{"rt.present", true},
                                   {"nct.runtime-registered", false},
                                   {"gpu.driver.device-nodes", false}}) {
    fault.id = id;
    const std::vector<report::Finding> findings = {fault};
    CAPTURE(id);
    const auto found =
        checks::runtime_blocker(nodes.front(), {site.cluster, site.census, site.facts, findings});
    CHECK(found.has_value() == blocks);
    if (found) CHECK(found->id == "verify.runtime");
  }
}

TEST_CASE("GPUs that are shared are counted by their shares, of the label or of the cluster file") {
  Site site;
  site.facts.nodes->front().allocatable = {{"nvidia.com/gpu", "8"}};
  site.cluster.hosts.front().gpu.sharing = {spec::Sharing::time_slicing, 4};
  CHECK(site.see(Link::allocatable).verdict == report::Verdict::pass);
  site.facts.nodes->front().labels["nvidia.com/gpu.replicas"] = "2";
  CHECK(site.see(Link::allocatable).verdict == report::Verdict::fail);
  site.facts.nodes->front().allocatable = {{"nvidia.com/gpu", "0"}, {"nvidia.com/gpu.shared", "4"}};
  CHECK(site.see(Link::allocatable).evidence == "4 nvidia.com/gpu.shared, for 2 GPUs with 2 shares each");
}
