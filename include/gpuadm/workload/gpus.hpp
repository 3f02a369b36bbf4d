#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/spec/values.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace workload {

using base::Result;

using spec::GpuRequest;
using spec::most_gpus;
using spec::parse_gpus;

/// Whether a resource of Kubernetes is that of GPUs, of shares of them or of MIG instances.
[[nodiscard]] bool is_gpu_resource(std::string_view resource);

/// The profile in the name of a resource, which has a dot for "+": "nvidia.com/mig-1g.10gb.me" is
/// "1g.10gb+me". Empty: not of MIG.
[[nodiscard]] std::string mig_profile_of(std::string_view resource);

/// "2 GPUs", "1/4 of a GPU", "1 MIG instance 1g.10gb"
[[nodiscard]] std::string describe(const GpuRequest& request);

/// Processes of a rank with these GPUs: one for each GPU. A process can use one MIG instance only.
[[nodiscard]] int processes_for(const GpuRequest& request);

/// GPUs of one kind on a node, as the scheduler counts them.
struct GpuOffer {
  std::string node;
  std::string resource;              ///< of the device plugin: "nvidia.com/gpu"; empty: by claims
  std::string profile;               ///< of MIG instances; empty: GPUs
  int shares = 1;                    ///< pods for each GPU; a unit of the resource is one share
  long long all = 0, free = 0;       ///< see GpuSupply::pods_of
  std::vector<std::string> holders;  ///< pods, "default/anna-0 (2)"
  bool time_sliced = false;          ///< shares by time-slicing, which does not limit their memory
};

/// What a cluster has to offer.
struct GpuSupply {
  std::vector<GpuOffer> offers;
  /// Nodes whose GPUs are not usable now, with the reason: "gpu2: NotReady", "gpu3: cordoned".
  std::vector<std::string> unusable;
  /// Numbers of pods for each GPU on nodes that share theirs, usable or not.
  std::set<int> share_counts;
  std::string claims;         ///< version of resource.k8s.io if GPUs are allocated by claims; or empty
  std::string runtime_class;  ///< that pods need to see GPUs; empty: none
  /// The namespace whose pods alone could be read: what others hold is unknown, and `free` is the most that
  /// may be free; empty: all pods were read.
  std::string pods_of = {};
};

/// Fault::remote if nodes or pods could not be read.
[[nodiscard]] Result<GpuSupply> supply_of(const facts::ClusterFacts& cluster);
/// What objects depend on, of a cluster that is created from this file and was not read: no offers.
[[nodiscard]] GpuSupply supply_of(const spec::Cluster& file);

/// What to know of a share by time-slicing when a pod with it is created; empty: nothing.
[[nodiscard]] std::string note_of_share(const GpuSupply& supply, const GpuRequest& request);

/// Whether pods with this request fit now, or may fit, `pods` of them. Fault::blocked: what is needed,
/// what each node has and who holds it. `spread`: at most one on a node.
enum class Placement { anywhere, one_per_node };
[[nodiscard]] Result<> check_fit(const GpuSupply& supply, const GpuRequest& request, int pods,
                                 Placement placement);

/// The parts of objects that request GPUs.
struct GpuParts {
  base::Tree limits;                         ///< for resources.limits; null: none
  base::Tree container_claims;               ///< for resources.claims; null: none
  base::Tree pod_claims;                     ///< for spec.resourceClaims; null: none
  std::optional<base::Tree> claim_template;  ///< the ResourceClaimTemplate to create
  std::string runtime_class;                 ///< for spec.runtimeClassName; empty: none
  base::Tree node_selector;                  ///< for spec.nodeSelector; null: none
  base::Tree node_expression;                ///< for each term of the required node affinity; null: none
};
/// `name`: of the claim template; `ns`: its namespace; `labels`: of it.
[[nodiscard]] GpuParts parts_of(const GpuSupply& supply, const GpuRequest& request, const std::string& name,
                                const std::string& ns, const base::Tree& labels);

/// Adds the parts to a pod's spec, for its container number `container`.
void add_gpus(base::Tree& pod_spec, const GpuParts& parts, std::size_t container = 0);

/// Why a node does not accept pods, "NotReady", "cordoned" or "taint KEY"; empty if it does. The taints
/// not-ready and unreachable with the effect NoExecute, which a Ready node keeps for some seconds, are
/// tolerated by every pod for 300 s (the admission plugin DefaultTolerationSeconds):
/// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions
[[nodiscard]] std::string why_no_pods(const facts::Node& node);

}  // namespace workload
