#include "gpuadm/workload/objects.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/quantity.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/gpus.hpp"
#include "gpuadm/workload/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

constexpr const char *product_label = "nvidia.com/gpu.product", *name_of_ns = "kubernetes.io/metadata.name";
/// Kueue's own, which the objects have from their creation on.
constexpr const char* queue_finalizer = "kueue.x-k8s.io/resource-in-use";

/// GPUs of a resource that a user may hold; nothing: not limited.
using GpuLimits = std::map<std::string, std::optional<long long>>;

std::set<std::string> resources_in(const std::vector<QueueFlavor>& flavors) {
  std::set<std::string> resources;
  for (const QueueFlavor& flavor : flavors)
    for (const auto& [resource, count] : flavor.offers) resources.insert(resource);
  return resources;
}

long long offered(const QueueFlavor& flavor, const std::string& resource) {
  const auto found = flavor.offers.find(resource);
  return found == flavor.offers.end() ? 0 : found->second;
}

/// The limits in a ResourceQuota; empty: it limits no GPUs.
GpuLimits limits_of(const UserState& user, const std::set<std::string>& resources) {
  GpuLimits limits;
  bool any = false;
  for (const std::string& resource : resources) {
    const auto found = user.hard.find("requests." + resource);
    const auto amount = found == user.hard.end() ? std::nullopt : kube::parse_quantity(found->second);
    any = any || amount;
    limits[resource] = amount ? std::optional(static_cast<long long>(*amount)) : std::nullopt;
  }
  return any ? limits : GpuLimits();
}

Tree queue_object(const char* kind, const std::string& name, const std::string& ns, Tree spec) {
  Tree metadata = Tree::map_of({{"name", name}});
  if (!ns.empty()) metadata.set("namespace", ns);
  metadata.set("labels", labels_of(addon_kind, kueue_addon));
  if (kind != std::string_view("LocalQueue")) metadata.set("finalizers", Tree::list_of({queue_finalizer}));
  return Tree::map_of({{"apiVersion", kueue_version},
                       {"kind", kind},
                       {"metadata", std::move(metadata)},
                       {"spec", std::move(spec)}});
}

Tree flavor_object(const QueueFlavor& flavor) {
  Tree spec = Tree::map();
  if (!flavor.product.empty()) spec.set("nodeLabels", Tree::map_of({{product_label, flavor.product}}));
  return queue_object("ResourceFlavor", flavor.name, "", std::move(spec));
}

/// What a ClusterQueue has of one resource of one flavor.
struct FlavorQuota {
  long long nominal = 0;
  std::optional<long long> borrowing, lending;  ///< limits; nothing: none
};

/// The quotas of a cluster: how its GPUs are divided into shares.
class Division {
 public:
  Division(const std::vector<QueueFlavor>& flavors, const std::vector<GpuLimits>& users, Sharing sharing)
      : flavors_(flavors), resources_(resources_in(flavors)), sharing_(sharing) {
    for (const std::string& resource : resources_) {
      for (const QueueFlavor& flavor : flavors_) supply_[resource] += offered(flavor, resource);
      for (const GpuLimits& limits : users)
        if (const auto& limit = limits.at(resource)) wanted_[resource] += std::min(*limit, supply_[resource]);
    }
    for (const QueueFlavor& flavor : flavors_)
      for (const std::string& resource : resources_) {
        long long left = offered(flavor, resource);
        for (const GpuLimits& limits : users) left -= share_of(limits, flavor, resource).nominal;
        rest_[{flavor.name, resource}] = left;
      }
  }

  /// Of a user: the quota, or the same fraction of each quota if they are more than there is.
  [[nodiscard]] FlavorQuota share_of(const GpuLimits& limits, const QueueFlavor& flavor,
                                     const std::string& resource) const {
    FlavorQuota quota;
    if (sharing_ == Sharing::strict) quota.lending = 0;
    const auto& limit = limits.at(resource);
    if (!limit) return quota;
    const long long has = offered(flavor, resource), all = supply_.at(resource);
    const long long divisor = std::max(all, wanted_.contains(resource) ? wanted_.at(resource) : 0);
    if (divisor > 0) quota.nominal = std::min(*limit, all) * has / divisor;
    quota.borrowing = std::max(0LL, std::min(*limit, has) - quota.nominal);
    return quota;
  }

  [[nodiscard]] FlavorQuota rest_of(const QueueFlavor& flavor, const std::string& resource) const {
    return {rest_.at({flavor.name, resource}), std::nullopt, std::nullopt};
  }

  template <class QuotaOf>
  [[nodiscard]] Tree groups(QuotaOf quota_of) const {
    Tree list = Tree::list();
    for (const QueueFlavor& flavor : flavors_) {
      Tree quotas = Tree::list();
      for (const std::string& resource : resources_) {
        const FlavorQuota quota = quota_of(flavor, resource);
        Tree one = Tree::map_of({{"name", resource}, {"nominalQuota", std::to_string(quota.nominal)}});
        if (quota.borrowing) one.set("borrowingLimit", std::to_string(*quota.borrowing));
        if (quota.lending) one.set("lendingLimit", std::to_string(*quota.lending));
        quotas.push(std::move(one));
      }
      list.push(Tree::map_of({{"name", flavor.name}, {"resources", std::move(quotas)}}));
    }
    return Tree(
        Tree::List{Tree::map_of({{"coveredResources", Tree::list_of({resources_.begin(), resources_.end()})},
                                 {"flavors", std::move(list)}})});
  }

 private:
  const std::vector<QueueFlavor>& flavors_;
  std::set<std::string> resources_;
  Sharing sharing_;
  std::map<std::string, long long> supply_, wanted_;
  std::map<std::pair<std::string, std::string>, long long> rest_;
};

/// Jobs are admitted in their order: small ones do not overtake a large one without end.
Tree cluster_queue(const std::string& name, Tree selector, Tree groups, Sharing sharing) {
  const char* reclaim = sharing == Sharing::reclaim ? "Any" : "Never";
  Tree preemption = Tree::map_of({{"reclaimWithinCohort", reclaim},
                                  {"borrowWithinCohort", Tree::map_of({{"policy", "Never"}})},
                                  {"withinClusterQueue", "Never"}});
  return queue_object(
      "ClusterQueue", name, "",
      Tree::map_of({{"cohortName", own_queue},
                    {"queueingStrategy", "StrictFIFO"},
                    {"stopPolicy", "None"},
                    {"namespaceSelector", std::move(selector)},
                    {"flavorFungibility",
                     Tree::map_of({{"whenCanBorrow", "TryNextFlavor"}, {"whenCanPreempt", "TryNextFlavor"}})},
                    {"preemption", std::move(preemption)},
                    {"resourceGroups", std::move(groups)}}));
}

Tree local_queue(const std::string& ns, const std::string& cluster_queue_name) {
  return queue_object("LocalQueue", std::string(own_queue), ns,
                      Tree::map_of({{"clusterQueue", cluster_queue_name}, {"stopPolicy", "None"}}));
}

/// A name of an object of Kubernetes: "nvidia-h200" for "NVIDIA-H200".
std::string flavor_name(const std::string& product) {
  std::string name = product.empty() ? "gpu" : base::lower(product);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  while (name.ends_with('-')) name.pop_back();
  return fmt::format("{}-{}", own_queue, name);
}

}  // namespace

Result<Sharing> parse_sharing(std::string_view word) {
  if (word == "strict") return Sharing::strict;
  if (word == "borrow") return Sharing::borrow;
  if (word == "reclaim") return Sharing::reclaim;
  return base::fail(Fault::usage, fmt::format("unknown sharing: {}", base::printable(word, 80)),
                    "strict, borrow or reclaim");
}

Result<std::vector<QueueFlavor>> queue_flavors(const facts::ClusterFacts& cluster) {
  if (!cluster.nodes) return base::fail(Fault::remote, "the nodes of the cluster could not be read");
  std::map<std::string, QueueFlavor> flavors;
  for (const facts::Node& node : *cluster.nodes)
    for (const auto& [resource, amount] : node.allocatable) {
      const long long count = base::to_int(amount).value_or(0);
      if (!is_gpu_resource(resource) || count <= 0) continue;
      const auto label = node.labels.find(product_label);
      const std::string product = label == node.labels.end() ? "" : label->second;
      QueueFlavor& flavor = flavors[product];
      flavor.name = flavor_name(product);
      flavor.product = product;
      flavor.offers[resource] += count;
    }
  if (flavors.empty())
    return base::fail(Fault::blocked,
                      "no node offers GPUs by a device plugin, which are what the queues count",
                      "gpuadm gpu list");
  std::vector<QueueFlavor> list;
  for (auto& [product, flavor] : flavors) list.push_back(std::move(flavor));
  return list;
}

std::vector<Tree> queue_objects(const std::vector<QueueFlavor>& flavors, std::span<const UserState> users,
                                Sharing sharing) {
  const std::set<std::string> resources = resources_in(flavors);
  std::map<std::string, std::pair<std::string, GpuLimits>> by_ns;  // two users may share a namespace
  for (const UserState& user : users)
    if (!user.ns.empty() && !user.is_being_deleted)
      by_ns.try_emplace(user.ns, user.name, limits_of(user, resources));
  std::vector<GpuLimits> limits;
  for (const auto& [ns, user] : by_ns)
    if (!user.second.empty()) limits.push_back(user.second);
  const Division division(flavors, limits, sharing);
  std::vector<Tree> objects, locals;
  for (const QueueFlavor& flavor : flavors) objects.push_back(flavor_object(flavor));
  objects.push_back(
      cluster_queue(std::string(own_queue), Tree::map(),
                    division.groups([&](const QueueFlavor& flavor, const std::string& resource) {
                      return division.rest_of(flavor, resource);
                    }),
                    sharing));
  if (!by_ns.contains("default")) locals.push_back(local_queue("default", std::string(own_queue)));
  for (const auto& [ns, user] : by_ns) {
    if (user.second.empty()) {
      locals.push_back(local_queue(ns, std::string(own_queue)));
      continue;
    }
    const std::string name = user_object_name(user.first);
    objects.push_back(
        cluster_queue(name, Tree::map_of({{"matchLabels", Tree::map_of({{name_of_ns, ns}})}}),
                      division.groups([&](const QueueFlavor& flavor, const std::string& resource) {
                        return division.share_of(user.second, flavor, resource);
                      }),
                      sharing));
    locals.push_back(local_queue(ns, name));
  }
  objects.insert(objects.end(), locals.begin(), locals.end());
  return objects;
}

std::vector<std::string> queue_kinds() {
  return {"localqueues.kueue.x-k8s.io", "clusterqueues.kueue.x-k8s.io", "resourceflavors.kueue.x-k8s.io"};
}

std::vector<std::string> kueue_kinds() {
  std::vector<std::string> kinds = {"workloads.kueue.x-k8s.io"};
  for (std::string& kind : queue_kinds()) kinds.push_back(std::move(kind));
  for (const char* kind : {"admissionchecks.kueue.x-k8s.io", "topologies.kueue.x-k8s.io"})
    kinds.emplace_back(kind);
  return kinds;
}

}  // namespace workload
