#include "gpuadm/base/json.hpp"
#include "gpuadm/workload/gpus.hpp"

#include <doctest/doctest.h>

namespace {

using workload::GpuRequest;
using workload::Placement;

facts::Node node(const std::string& name, std::map<std::string, std::string> gpus) {
  facts::Node made;
  made.name = name;
  made.conditions["Ready"] = {"True", "KubeletReady"};
  made.capacity = gpus;
  made.allocatable = std::move(gpus);
  return made;
}

facts::Pod pod(const std::string& name, const std::string& on, long long gpus,
               const std::string& phase = "Running") {
  facts::Pod made;
  made.ns = "default";
  made.name = name;
  made.node = on;
  made.phase = phase;
  made.gpus["nvidia.com/gpu"] = gpus;
  return made;
}

facts::ClusterFacts two_nodes() {
  facts::ClusterFacts facts;
  facts.nodes = {node("gpu1", {{"nvidia.com/gpu", "4"}}), node("gpu2", {{"nvidia.com/gpu", "2"}})};
  facts.pods = {pod("anna-0", "gpu1", 3), pod("old", "gpu1", 1, "Succeeded")};
  facts.runtime_classes = std::map<std::string, std::string>{{"nvidia", "nvidia"}};
  return facts;
}

facts::ClusterFacts one_with_claims() {
  facts::ClusterFacts facts;
  facts.nodes = {node("gpu1", {})};
  facts.pods = std::vector<facts::Pod>();
  facts.dra_versions = {"v1", "v1beta1"};
  facts.slices = {
      {"gpu.nvidia.com", "gpu1", "gpu1", {{"gpu-0", "gpu", "GPU-1", ""}, {"gpu-1", "gpu", "GPU-2", ""}}}};
  facts.resource_claims = {{"default", "job-claim", {{"gpu.nvidia.com", "gpu1", "gpu-0"}}, {"job"}}};
  return facts;
}

GpuRequest request(std::string_view text) {
  return *workload::parse_gpus("--gpus", text);
}

}  // namespace

TEST_CASE("a request for GPUs is a number, a share, or MIG instances") {
  CHECK(request("0").form == GpuRequest::Form::none);
  CHECK(request("2").count == 2);
  CHECK(request("1/4").parts == 4);
  CHECK(request("1/1").form == GpuRequest::Form::whole);
  CHECK(request("1g.10gb:2").count == 2);
  CHECK(request("1g.10gb+me").profile == "1g.10gb+me");
  for (const char* bad : {"", "-1", "2/4", "1/0", "1.5", "two", "1g.10gb:0", "9999999", "1g.10gb:"})
    CHECK_MESSAGE(!workload::parse_gpus("--gpus", bad), bad);
}

TEST_CASE("the profile of MIG instances is in the name of their resource") {
  CHECK(workload::mig_profile_of("nvidia.com/mig-1g.10gb") == "1g.10gb");
  CHECK(workload::mig_profile_of("nvidia.com/mig-1g.10gb.me") == "1g.10gb+me");
  CHECK(workload::mig_profile_of("nvidia.com/mig-1g.24gb.me.all") == "1g.24gb+me.all");
  CHECK(workload::mig_profile_of("nvidia.com/mig-1g.24gb-me") == "1g.24gb-me");
  CHECK(workload::mig_profile_of("nvidia.com/gpu").empty());
  facts::ClusterFacts facts = two_nodes();
  facts.nodes = {node("gpu1", {{"nvidia.com/mig-1g.10gb.me", "4"}})};
  facts.pods->clear();
  const auto supply = workload::supply_of(facts);
  REQUIRE(supply);
  REQUIRE(supply->offers.size() == 1);
  CHECK(supply->offers[0].profile == "1g.10gb+me");
  CHECK(workload::check_fit(*supply, request("1g.10gb+me:4"), 1, Placement::anywhere));
}

TEST_CASE("pods that have ended hold no GPU") {
  const auto supply = *workload::supply_of(two_nodes());
  REQUIRE(supply.offers.size() == 2);
  CHECK(supply.offers[0].free == 1);
  CHECK(supply.offers[0].holders == std::vector<std::string>{"default/anna-0 (3)"});
  CHECK(supply.runtime_class == "nvidia");
}

TEST_CASE("a request that does not fit is refused with the numbers and the holders") {
  const auto supply = *workload::supply_of(two_nodes());
  CHECK(workload::check_fit(supply, request("2"), 1, Placement::anywhere));
  CHECK(workload::check_fit(supply, request("1"), 3, Placement::anywhere));
  const auto many = workload::check_fit(supply, request("1"), 3, Placement::one_per_node);
  REQUIRE(!many);
  CHECK(many.error().what.starts_with(
      "1 GPU for each of 3 pods on different nodes: more than the cluster has"));
  const auto later = workload::check_fit(supply, request("4"), 1, Placement::anywhere);
  REQUIRE(!later);
  CHECK(
      later.error().what ==
      "4 GPUs: needed, but not free now (gpu1: 1 of 4 free, held by default/anna-0 (3); gpu2: 2 of 2 free)");
  CHECK(!workload::check_fit(supply, request("1/4"), 1, Placement::anywhere));
}

TEST_CASE("nodes that are not ready, cordoned or tainted offer no GPUs, and are named") {
  auto facts = two_nodes();
  (*facts.nodes)[0].conditions["Ready"].status = "Unknown";
  (*facts.nodes)[1].unschedulable = true;
  const auto supply = *workload::supply_of(facts);
  CHECK(supply.offers.empty());
  CHECK(supply.unusable == std::vector<std::string>{"gpu1: NotReady", "gpu2: cordoned"});
  const auto fit = workload::check_fit(supply, request("1"), 1, Placement::anywhere);
  REQUIRE(!fit);
  CHECK(fit.error().what == "1 GPU: more than the cluster has (gpu1: NotReady; gpu2: cordoned)");
}

TEST_CASE("what could not be read is not taken for free") {
  auto facts = two_nodes();
  facts.pods.reset();
  CHECK(!workload::supply_of(facts));
}

TEST_CASE("what pods of other namespaces hold is unknown, and not taken for free") {
  auto facts = two_nodes();
  facts.pods_of = "default";
  const auto supply = *workload::supply_of(facts);
  CHECK(supply.pods_of == "default");
  // The most that may be free: more is not possible, less is decided by the scheduler.
  CHECK(workload::check_fit(supply, request("1"), 3, Placement::anywhere));
  const auto fit = workload::check_fit(supply, request("4"), 1, Placement::anywhere);
  REQUIRE(!fit);
  CHECK(fit.error().what ==
        "4 GPUs: needed, but not free now (gpu1: 4 in all, of which others may hold some, held by "
        "default/anna-0 (3); gpu2: 2 in all, of which others may hold some)");
}

TEST_CASE("a share is one unit of a resource that is divided among as many pods") {
  auto facts = two_nodes();
  (*facts.nodes)[1] = node("gpu2", {{"nvidia.com/gpu.shared", "4"}});
  (*facts.nodes)[1].labels["nvidia.com/gpu.replicas"] = "4";
  const auto supply = *workload::supply_of(facts);
  CHECK(workload::check_fit(supply, request("1/4"), 4, Placement::anywhere));
  CHECK(!workload::check_fit(supply, request("1/8"), 1, Placement::anywhere));
  const auto parts = workload::parts_of(supply, request("1/4"), "a", "default", {});
  CHECK(base::json::write(parts.limits, 0) == R"({"nvidia.com/gpu.shared":1})");
}

TEST_CASE("where only some nodes share their GPUs, pods are scheduled to nodes of the requested kind") {
  auto facts = two_nodes();
  const auto spec_for = [&](std::string_view gpus, const char* given) {
    base::Tree spec = *base::json::read(given, "spec");
    workload::add_gpus(spec,
                       workload::parts_of(*workload::supply_of(facts), request(gpus), "a", "default", {}));
    spec.erase("containers");
    spec.erase("runtimeClassName");
    return base::json::write(spec, 0);
  };
  constexpr const char* plain = R"({"containers":[{}]})";
  CHECK(spec_for("1", plain) == "{}");
  // Nodes without shares may have no label, and a cordoned node may become usable.
  (*facts.nodes)[1].labels["nvidia.com/gpu.replicas"] = "2";
  (*facts.nodes)[1].unschedulable = true;
  CHECK(
      spec_for("1", plain) ==
      R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"nvidia.com/gpu.replicas","operator":"NotIn","values":["2"]}]}]}}}})");
  CHECK(spec_for("1/2", R"({"containers":[{}],"nodeSelector":{"disk":"fast"}})") ==
        R"({"nodeSelector":{"disk":"fast","nvidia.com/gpu.replicas":"2"}})");
  // Terms are alternatives.
  CHECK(
      spec_for(
          "1",
          R"({"containers":[{}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[1]},{"matchExpressions":[2]}]}}}})") ==
      R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[1],"matchExpressions":[{"key":"nvidia.com/gpu.replicas","operator":"NotIn","values":["2"]}]},{"matchExpressions":[2,{"key":"nvidia.com/gpu.replicas","operator":"NotIn","values":["2"]}]}]}}}})");
}

TEST_CASE("GPUs that are allocated by claims need a claim template") {
  const auto supply = *workload::supply_of(one_with_claims());
  CHECK(supply.claims == "v1");
  CHECK(workload::check_fit(supply, request("1"), 1, Placement::anywhere));
  CHECK(!workload::check_fit(supply, request("2"), 1, Placement::anywhere));
  const auto parts = workload::parts_of(supply, request("1"), "anna", "default", {});
  CHECK(parts.limits.is_null());
  REQUIRE(parts.claim_template);
  CHECK(parts.claim_template->find("apiVersion")->text() == "resource.k8s.io/v1");
  base::Tree spec = *base::json::read(R"({"containers":[{"name":"a"}]})", "spec");
  workload::add_gpus(spec, parts);
  CHECK(
      base::json::write(spec, 0) ==
      R"({"containers":[{"name":"a","resources":{"claims":[{"name":"gpus"}]}}],"resourceClaims":[{"name":"gpus","resourceClaimTemplateName":"anna"}]})");
}

TEST_CASE("a share by time-slicing is said not to limit memory, and one by MPS is not") {
  facts::ClusterFacts facts = two_nodes();
  facts.pods->clear();
  facts.nodes->pop_back();
  facts.nodes->front().labels = {{"nvidia.com/gpu.replicas", "2"},
                                 {"nvidia.com/gpu.sharing-strategy", "time-slicing"}};
  const std::string note = workload::note_of_share(*workload::supply_of(facts), request("1/2"));
  CHECK(note.contains("1/2 of a GPU of gpu1 is by time-slicing, which does not limit memory"));
  CHECK(note.contains("gpuadm gpu share gpu1 mps:2"));
  CHECK(workload::note_of_share(*workload::supply_of(facts), request("1")).empty());
  facts.nodes->front().labels["nvidia.com/gpu.sharing-strategy"] = "mps";
  CHECK(workload::note_of_share(*workload::supply_of(facts), request("1/2")).empty());
}
