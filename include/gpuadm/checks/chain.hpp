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
/// like every check; but a chain ends at its first broken link, and its last links are judged by pods that
/// were made for it.
namespace checks {

/// In their order: each needs those before it.
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
/// What is so where it holds.
[[nodiscard]] std::string_view title_of(Link link);
/// Whether it is judged by pods of its own.
[[nodiscard]] constexpr bool needs_pods(Link link) {
  return link >= Link::scheduling;
}
/// Whether it is judged by the network proof, on nodes without GPUs, too.
[[nodiscard]] constexpr bool needs_network_proof(Link link) {
  return link == Link::network || link == Link::dns;
}

/// A node, with GPUs or without.
struct GpuNode {
  std::string host;  ///< in the census
  std::string node;  ///< in the cluster; empty: no node of it is this host
  std::string resource = "nvidia.com/gpu";
  std::string claims;         ///< version of resource.k8s.io that GPUs are claimed with; empty: no DRA
  std::string runtime_class;  ///< "nvidia" where the cluster has it, or empty
  bool mig = false;           ///< any GPU of it is partitioned
  int counted = 0;            ///< GPUs that the driver counts
  int shares = 1;             ///< pods that may have one GPU
  long long allocatable = 0, held = 0;  ///< of the resource; held: by pods that are there already
  std::vector<std::string> holders;     ///< those pods
  [[nodiscard]] long long free() const { return allocatable > held ? allocatable - held : 0; }
};

/// The hosts of the census that have a GPU or are a node that offers one, in its order.
[[nodiscard]] std::vector<GpuNode> gpu_nodes(const spec::Cluster& cluster, const facts::Census& census,
                                             const facts::ClusterFacts& facts);

/// The hosts of the census that are nodes of the cluster, in its order.
[[nodiscard]] std::vector<GpuNode> cluster_nodes(const spec::Cluster& cluster, const facts::Census& census,
                                                 const facts::ClusterFacts& facts);

/// What the links `network` and `dns` are judged by.
struct NetworkView {
  const facts::NetworkProof& proof;
  std::span<const facts::PodRoutes> routes;  ///< of the nodes whose routes were read
};
/// One of these two links. As examine_link.
[[nodiscard]] report::Finding examine_network(Link link, const GpuNode& node, const NetworkView& view);

/// The inputs of the links from `driver` to `allocatable`.
struct ChainInputs {
  const spec::Cluster& cluster;
  const facts::Census& census;
  const facts::ClusterFacts& facts;
  std::span<const report::Finding> findings;  ///< of the stage `node`
};
/// Such a link. Its id is "verify.LINK", its severity a blocker's.
[[nodiscard]] report::Finding examine_link(Link link, const GpuNode& node, const ChainInputs& inputs);

/// The least that a figure of gpuadm-proof may be: data/gpu-floors.csv.
struct Floor {
  std::string model;         ///< as CUDA calls it; "*": every one that has no own
  std::string step, figure;  ///< "memory", "writeGBs"
  double least = 0;
  std::string of;  ///< a figure of the same step that `least` is a share of, or empty
  std::string source;
};
using Floors = std::vector<Floor>;
/// Reads data/ as read_data() does.
[[nodiscard]] base::Result<Floors> read_floors(
    const std::function<base::Result<std::string>(std::string_view path)>& asset);

/// What pods a link needs on a node.
struct PodTest {
  Link link = Link::scheduling;
  std::string prefix;      ///< their names begin so: "compute-0-"
  long long pods = 0;      ///< how many; none: `why_none` says why
  long long gpus = 1;      ///< of each
  std::size_t rounds = 1;  ///< how often each must have looked at its GPU; of `reload`
  long long running = 0;   ///< how many must run before one that waits counts
  std::string why_none;    ///< then the link is skipped
};
/// `index` tells nodes apart.
[[nodiscard]] PodTest pod_test_of(Link link, const GpuNode& node, std::size_t index);

/// Whether nothing more is to be waited for: every pod of the trial is where it ends, or fails for good.
[[nodiscard]] bool is_decided(const PodTest& pod_test, const facts::Space& seen);
/// How often the pods of a trial of `reload` have looked at their GPUs, the one that did so least.
[[nodiscard]] std::size_t rounds_of(const PodTest& pod_test, const facts::Space& seen);
/// A link by what the control plane says of its trial's pods and their logs.
[[nodiscard]] report::Finding examine_pod_test(const PodTest& pod_test, const GpuNode& node,
                                               const facts::Space& seen, const Floors& floors);

/// A finding of a link that does not hold. `cause`: the id of the check that says so, where it is one.
[[nodiscard]] report::Finding broken(Link link, const GpuNode& node, const std::string& says,
                                     const std::string& evidence, const std::string& remedy,
                                     const std::string& cause = {});
/// A finding of a link that could not be tried, and why.
[[nodiscard]] report::Finding untried(Link link, const GpuNode& node, const std::string& why);

}  // namespace checks
