#include "session/run/pod_test_manifests.hpp"

#include <fmt/format.h>

namespace session {

namespace {

using checks::GpuNode;
using checks::Link;
using checks::PodTest;

constexpr std::chrono::seconds a_pod{120}, a_gpu{300};

/// The container's command, as a YAML list.
std::string command_of(const PodTest& pod_test, const GpuNode& node) {
  const std::string proof = R"("/gpuadm-proof", )";
  switch (pod_test.link) {
    case Link::pod:
      return R"("nvidia-smi", "-L")";
    case Link::compute:  // the memory of a shared GPU is not all available
      return proof + (node.shares > 1 ? R"("--quick", )" : "") +
             fmt::format(R"("--deadline", "{}")", a_gpu.count());
    case Link::reload:
      return proof + R"("--again", "600")";
    default:
      return proof + R"("--hold", "900")";
  }
}

/// The container's resources, and the claims of its pod, as YAML.
base::Variables asked_by(const PodTest& pod_test, const GpuNode& node) {
  if (node.claims.empty())
    return {{"claims", "[]"},
            {"resources", fmt::format(R"({{ limits: {{ {}: "{}" }} }})", node.resource, pod_test.gpus)}};
  return {{"claims", fmt::format("[{{ name: gpus, resourceClaimTemplateName: {}claim }}]", pod_test.prefix)},
          {"resources", "{ claims: [{ name: gpus }] }"}};
}

/// The claim template of a test, for templates/verify-claim.yaml. v1beta1 has no `exactly`.
base::Variables claim_of(const PodTest& pod_test, const GpuNode& node) {
  const std::string request = fmt::format("deviceClassName: {}, allocationMode: ExactCount, count: {}",
                                          node.mig ? "mig.nvidia.com" : "gpu.nvidia.com", pod_test.gpus);
  return {{"name", pod_test.prefix + "claim"},
          {"version", node.claims},
          {"request", node.claims == "v1beta1" ? request : "exactly: { " + request + " }"}};
}

}  // namespace

std::chrono::seconds time_limit_of(const PodTest& pod_test) {
  return pod_test.link == Link::compute ? a_pod + a_gpu * static_cast<int>(pod_test.gpus) : a_pod;
}

Result<std::string> test_manifests(const playbook::Library& library, const PodTest& pod_test,
                                   const GpuNode& node) {
  const auto document = [&](const std::string& path, const base::Variables& values) -> Result<std::string> {
    return "---\n" + TRY(playbook::fill(TRY(library.text(path)), values, {}, path));
  };
  base::Variables values{{"node", node.node},
                         {"image", proof_image},
                         {"command", command_of(pod_test, node)},
                         {"runtime_class", node.runtime_class.empty() ? "null" : node.runtime_class},
                         {"deadline", std::to_string(time_limit_of(pod_test).count() + 900)}};
  values.merge(asked_by(pod_test, node));
  std::string all;
  if (!node.claims.empty()) all += TRY(document("templates/verify-claim.yaml", claim_of(pod_test, node)));
  for (long long number = 0; number < pod_test.pods; ++number) {
    values["name"] = fmt::format("{}{}", pod_test.prefix, number);
    all += TRY(document("templates/verify-pod.yaml", values));
  }
  return all;
}

}  // namespace session
