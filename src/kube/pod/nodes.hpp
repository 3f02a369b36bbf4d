#pragma once

#include "kube/pod/context.hpp"

/// Which nodes can take a pod.
namespace kube::pod {

/// Why a node cannot take the pod.
enum class Obstacle {
  selector,
  affinity,
  volume,
  not_ready,
  cordoned,
  control_plane,
  taint,
  pressure,
  resource
};

struct Misfit {
  Obstacle obstacle = Obstacle::resource;
  std::string detail;    ///< the taint, the label, the condition, the message of NotReady
  std::string resource;  ///< of a resource that is in use
  double requested = 0, free = 0;
};

struct NodeFit {
  const facts::Node* node = nullptr;
  std::vector<Misfit> misfits;
};

[[nodiscard]] bool is_gpu(std::string_view resource);
/// Whether pods get this resource of the node by claims: also those that request it by its name, for which
/// the scheduler makes a claim (from Kubernetes 1.36).
[[nodiscard]] bool is_claimed(const facts::Node& node, std::string_view resource);
/// What a node has of a resource for pods. GPUs that are allocated by claims count as "nvidia.com/gpu".
[[nodiscard]] double capacity(const PodView& view, const facts::Node& node, const std::string& resource);
/// What pods on the node have reserved of it.
[[nodiscard]] double used(const PodView& view, const facts::Node& node, const std::string& resource);

/// Whether the pod may run on the node as far as the terms say.
[[nodiscard]] bool matches(const std::vector<NodeTerm>& terms, const facts::Node& node);
/// "KEY In [a b], KEY2 Exists"
[[nodiscard]] std::string text_of(const std::vector<NodeTerm>& terms);

/// The obstacles on one node, the most fundamental first.
[[nodiscard]] std::vector<Misfit> misfits(const Context& context, const facts::Node& node);

/// Why no node has enough of a resource: `most` is the maximum. For GPUs: the device plugin and the DRA
/// driver.
[[nodiscard]] PodLink beyond_every_node(const Context& context, const std::string& resource, double requested,
                                        double most);

/// A PersistentVolumeClaim or ResourceClaim that the pod waits for; nothing: there is none.
[[nodiscard]] std::optional<PodLink> waits_for_claim(const Context& context);

/// A rolling update of the pod's Deployment that waits for itself: a pod of an earlier ReplicaSet has the
/// GPUs. `what`: what is requested and free.
[[nodiscard]] std::optional<PodLink> update_waits_for_itself(const Context& context,
                                                             const std::string& resource,
                                                             const std::string& what,
                                                             std::vector<std::string> seen);

/// "scheduler: MESSAGE", the reason that the scheduler gives; empty: none.
[[nodiscard]] std::string scheduler_message(const Context& context);
/// The pod has not been scheduled, and gpuadm finds a node for it.
[[nodiscard]] PodLink by_scheduler(const Context& context);
/// The pod waits for its scheduling gates, such as those of Kueue; nothing: it has none.
[[nodiscard]] std::optional<PodLink> gated(const Context& context);

}  // namespace kube::pod
