#pragma once

#include "gpuadm/checks/checks.hpp"
#include "gpuadm/facts/network_proof.hpp"
#include "gpuadm/facts/proof.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The chain from a pod's network and a GPU's driver to a pod that computes on the GPU, link by link. Pure,
/// like all checks; but a chain ends at its first broken link, and its last links are tested by pods that are
/// created for them.
namespace checks {

/// In order: each depends on those before it.
enum class Link {
  network,
  dns,
  driver,
  nvml,
  cdi,
  runtime,
  plugin,
  allocatable,
  scheduling,
  pod,
  compute,
  reload
};

[[nodiscard]] std::span<const Link> all_links();
[[nodiscard]] std::string_view name_of(Link link);
[[nodiscard]] std::optional<Link> link_named(std::string_view name);
/// What is true if the link is intact.
[[nodiscard]] std::string_view title_of(Link link);
/// Whether it is tested by its own pods.
[[nodiscard]] constexpr bool needs_pods(Link link) {
  return link >= Link::scheduling;
}
/// Whether it is tested by the network test, also on nodes without GPUs.
[[nodiscard]] constexpr bool needs_network_proof(Link link) {
  return link == Link::network || link == Link::dns;
}

/// A node, with GPUs or without.
struct GpuNode {
  std::string host;  ///< in the census
  std::string node;  ///< in the cluster; empty: the host is not a node of it
  std::string resource = "nvidia.com/gpu";
  std::string claims;                   ///< version of resource.k8s.io for claims of GPUs; empty: no DRA
  std::string runtime_class;            ///< "nvidia" if the cluster has it, or empty
  bool mig = false;                     ///< any GPU of it is partitioned
  int counted = 0;                      ///< GPUs that the driver reports
  int shares = 1;                       ///< pods that may share one GPU
  long long allocatable = 0, held = 0;  ///< of the resource; held: by existing pods
  std::vector<std::string> holders;     ///< those pods
  [[nodiscard]] long long free() const { return allocatable > held ? allocatable - held : 0; }
};

/// The hosts of the census that have a GPU or are a node that advertises one, in its order.
[[nodiscard]] std::vector<GpuNode> gpu_nodes(const spec::Cluster& cluster, const facts::Census& census,
                                             const facts::ClusterFacts& facts);

/// The hosts of the census that are nodes of the cluster, in its order.
[[nodiscard]] std::vector<GpuNode> cluster_nodes(const spec::Cluster& cluster, const facts::Census& census,
                                                 const facts::ClusterFacts& facts);

/// Inputs for the links `network` and `dns`.
struct NetworkView {
  const facts::NetworkProof& proof;
  std::span<const facts::PodRoutes> routes;  ///< of the nodes whose routes were read
};
/// Examines one of these two links, like examine_link.
[[nodiscard]] report::Finding examine_network(Link link, const GpuNode& node, const NetworkView& view);

/// The inputs of the links from `driver` to `allocatable`.
struct ChainInputs {
  const spec::Cluster& cluster;
  const facts::Census& census;
  const facts::ClusterFacts& facts;
  std::span<const report::Finding> findings;  ///< of the stage `node`
};
/// The broken link `runtime` of a node on which the doctor found a blocker of the container runtime (`rt.`).
/// No pod starts there, so this comes before the links that need pods.
[[nodiscard]] std::optional<report::Finding> runtime_blocker(const GpuNode& node, const ChainInputs& inputs);

/// Examines such a link. The id of its finding is "verify.LINK", its severity blocker.
[[nodiscard]] report::Finding examine_link(Link link, const GpuNode& node, const ChainInputs& inputs);

/// The minimum for a figure of gpuadm-proof: data/gpu-floors.csv.
struct Floor {
  std::string model;         ///< CUDA's name of the model; "*": all without their own minimum
  std::string step, figure;  ///< "memory", "writeGBs"
  double least = 0;
  std::string of;  ///< a figure of the same step; `least` is a fraction of it; or empty
  std::string source;
};
using Floors = std::vector<Floor>;
/// Reads data/ as read_data() does.
[[nodiscard]] base::Result<Floors> read_floors(
    const std::function<base::Result<std::string>(std::string_view path)>& asset);

/// The pods that a link needs on a node.
struct PodTest {
  Link link = Link::scheduling;
  std::string prefix;      ///< prefix of their names: "compute-0-"
  long long pods = 0;      ///< how many; 0: see `why_none`
  long long gpus = 1;      ///< of each
  std::size_t rounds = 1;  ///< of `reload`: how often each must have opened its GPU
  long long running = 0;   ///< how many must run before a pending one is evaluated
  std::string why_none;    ///< the reason for skipping the link
};
/// `index` distinguishes nodes.
[[nodiscard]] PodTest pod_test_of(Link link, const GpuNode& node, std::size_t index);

/// Whether the test is complete: every pod has ended, or cannot succeed.
[[nodiscard]] bool is_decided(const PodTest& pod_test, const facts::Space& seen);
/// How often the pods of `reload` have opened their GPUs; the minimum of them.
[[nodiscard]] std::size_t rounds_of(const PodTest& pod_test, const facts::Space& seen);
/// Judges a link by the state of its pods and their logs.
[[nodiscard]] report::Finding examine_pod_test(const PodTest& pod_test, const GpuNode& node,
                                               const facts::Space& seen, const Floors& floors);

/// A finding of a broken link. `cause`: the id of the check that explains it, if any.
[[nodiscard]] report::Finding broken(Link link, const GpuNode& node, const std::string& message,
                                     const std::string& evidence, const std::string& remedy,
                                     const std::string& cause = {});
/// A finding of a link that could not be tested, with the reason.
[[nodiscard]] report::Finding untried(Link link, const GpuNode& node, const std::string& why);

}  // namespace checks
