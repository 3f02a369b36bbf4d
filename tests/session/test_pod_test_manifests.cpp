#include "gpuadm/base/yaml.hpp"

#include "session/run/pod_test_manifests.hpp"

#include <doctest/doctest.h>

namespace {

std::vector<base::Tree> manifests(const checks::GpuNode& node, checks::Link link) {
  const auto store = *assets::Store::open({});
  const auto library = *playbook::Library::load(store, "verify");
  const auto text = session::test_manifests(library, checks::pod_test_of(link, node, 0), node);
  REQUIRE_MESSAGE(text, (text ? "" : text.error().what));
  const auto documents = base::yaml::read_all(*text, "pods");
  REQUIRE_MESSAGE(documents, (documents ? "" : documents.error().what));
  std::vector<base::Tree> found;
  for (const base::Tree& one : *documents)
    if (!one.is_null()) found.push_back(one);
  return found;
}

const base::Tree& request_of(const base::Tree& claim) {
  return claim.at({"spec", "spec", "devices", "requests"})->items().front();
}

}  // namespace

TEST_CASE("test pods request a resource if a device plugin advertises it") {
  const checks::GpuNode node{.host = "one", .node = "one", .counted = 2, .allocatable = 2};
  const auto all = manifests(node, checks::Link::scheduling);
  REQUIRE(all.size() == 3);
  for (const base::Tree& pod : all) {
    CHECK(pod.find("kind")->text() == "Pod");
    CHECK(pod.at({"spec", "containers"})
              ->items()
              .front()
              .at({"resources", "limits", "nvidia.com/gpu"})
              ->text() == "1");
    CHECK(pod.at({"spec", "resourceClaims"})->items().empty());
  }
}

TEST_CASE("test pods use a claim template if GPUs are claimed: one pod more than there are GPUs") {
  checks::GpuNode node{.host = "one", .node = "one", .claims = "v1", .counted = 2, .allocatable = 2};
  auto all = manifests(node, checks::Link::scheduling);
  REQUIRE(all.size() == 4);
  CHECK(all[0].find("kind")->text() == "ResourceClaimTemplate");
  CHECK(all[0].find("apiVersion")->text() == "resource.k8s.io/v1");
  CHECK(request_of(all[0]).at({"exactly", "deviceClassName"})->text() == "gpu.nvidia.com");
  CHECK(request_of(all[0]).at({"exactly", "count"})->text() == "1");
  for (std::size_t i = 1; i < all.size(); ++i) {
    const base::Tree& claim = all[i].at({"spec", "resourceClaims"})->items().front();
    CHECK(claim.find("resourceClaimTemplateName")->text() == all[0].at({"metadata", "name"})->text());
    const base::Tree& container = all[i].at({"spec", "containers"})->items().front();
    CHECK(container.at({"resources", "claims"})->items().front().find("name")->text() ==
          claim.find("name")->text());
  }
  all = manifests(node, checks::Link::compute);
  REQUIRE(all.size() == 2);
  CHECK(request_of(all[0]).at({"exactly", "count"})->text() == "2");
  node.claims = "v1beta1";
  CHECK(request_of(manifests(node, checks::Link::pod)[0]).find("deviceClassName")->text() ==
        "gpu.nvidia.com");
  node.mig = true;
  CHECK(request_of(manifests(node, checks::Link::pod)[0]).find("deviceClassName")->text() ==
        "mig.nvidia.com");
}
