#include "gpuadm/base/text.hpp"

#include "commands/workloads/serve/serve_create.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Tree;

/// On which nodes a second pod can mount the claim at the same time.
enum class Sharing { anywhere, one_node, never };
Result<Sharing> sharing_of(const std::string& claim, const std::string& ns, ReachedCluster& cluster) {
  const auto objects = TRY(cluster.client().get({{"persistentvolumeclaims"}, ns, {}}));
  const auto volumes = TRY(cluster.client().get({{"persistentvolumes"}, {}, {}}));
  for (const Tree& one : objects) {
    if (text_at(one, {"metadata", "name"}) != claim) continue;
    const std::string volume = text_at(one, {"spec", "volumeName"});
    for (const Tree& candidate : volumes)
      if (text_at(candidate, {"metadata", "name"}) == volume && candidate.at({"spec", "nodeAffinity"}))
        return Sharing::one_node;
    if (const Tree* modes = one.at({"spec", "accessModes"}))
      for (const Tree& mode : modes->items())
        if (mode.text() == "ReadWriteMany" || mode.text() == "ReadOnlyMany") return Sharing::anywhere;
  }
  return Sharing::never;
}

}  // namespace

Result<std::string> why_not_rolling(const ServePlan& plan, const std::vector<Tree>& existing,
                                    const ServedModel& served, ReachedCluster& cluster) {
  const Tree* pod = object_of(existing, "Pod");
  if (!pod) return std::string();
  workload::GpuSupply spare = plan.service.spare;
  std::vector<std::string> claims;
  if (!plan.server.pod.claim.empty()) claims.push_back(plan.server.pod.claim);
  if (plan.server.source.kind == workload::ModelSource::Kind::storage)
    claims.push_back(plan.server.source.storage);
  for (const std::string& claim : claims) {
    const Sharing sharing = TRY(sharing_of(claim, plan.server.pod.ns, cluster));
    if (sharing == Sharing::never)
      return std::string(fmt::format("the volume {} can be mounted by one node only", claim));
    if (sharing == Sharing::one_node)
      std::erase_if(spare.offers, [&](const workload::GpuOffer& offer) {
        return offer.node != text_at(*pod, {"spec", "nodeName"});
      });
  }
  // Of equal pods, each that ends frees the GPUs of the next; otherwise all new ones need GPUs of their own.
  const bool are_equal = served.gpus == plan.server.pod.gpus_text;
  const int more = are_equal ? std::max(1, plan.server.replicas + 1 - static_cast<int>(served.replicas))
                             : plan.server.replicas;
  if (plan.server.pod.gpus.any() &&
      !workload::check_fit(spare, plan.server.pod.gpus, more, workload::Placement::anywhere))
    return std::string("no GPU is spare");
  return std::string();
}

}  // namespace commands
