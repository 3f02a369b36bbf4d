#include "gpuadm/workload/gpus.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/gpu_use.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

constexpr std::string_view whole_gpu = "nvidia.com/gpu", shared_gpu = "nvidia.com/gpu.shared",
                           mig_prefix = "nvidia.com/mig-";
/// The number of pods that share a GPU of the node (k8s-device-plugin docs/gpu-feature-discovery).
constexpr const char* replicas_label = "nvidia.com/gpu.replicas";

std::string label(const facts::Node& node, const std::string& name) {
  const auto place = node.labels.find(name);
  return place == node.labels.end() ? "" : place->second;
}

int shares_of(const facts::Node& node) {
  return static_cast<int>(std::max(1LL, base::to_int(label(node, replicas_label)).value_or(1)));
}

/// MIG profiles in resource names have dots: "nvidia.com/mig-1g.10gb"; "1g.10gb+me" is "1g.10gb.me".
std::string resource_of(const std::string& profile) {
  return std::string(mig_prefix) + base::replace_all(profile, "+", ".");
}

void add_plugin_offers(const facts::ClusterFacts& cluster, const facts::Node& node, GpuSupply& supply) {
  for (const auto& [resource, amount] : node.allocatable) {
    if (!is_gpu_resource(resource)) continue;
    const facts::GpuUsage usage = facts::gpu_usage(cluster, node, resource);
    if (usage.all <= 0) continue;
    GpuOffer offer{node.name, resource, mig_profile_of(resource), 1, usage.all, usage.free(), {}};
    offer.shares = shares_of(node);
    offer.time_sliced = label(node, "nvidia.com/gpu.sharing-strategy") == "time-slicing";
    for (const facts::GpuUse& use : usage.uses)
      offer.holders.push_back(fmt::format("{} ({})", use.holder, use.count));
    supply.offers.push_back(std::move(offer));
  }
}

void add_claim_offers(const facts::ClusterFacts& cluster, const facts::Node& node, GpuSupply& supply) {
  for (const auto which : {facts::Devices::gpus, facts::Devices::mig_instances}) {
    const facts::GpuUsage usage = facts::claimed_gpu_usage(cluster, node.name, which);
    if (usage.all == 0) continue;
    const char* profile = which == facts::Devices::gpus ? "" : "mig";
    GpuOffer offer{node.name, "", profile, 1, usage.all, usage.free(), {}};
    for (const facts::GpuUse& use : usage.uses) offer.holders.push_back(use.holder);
    supply.offers.push_back(std::move(offer));
  }
}

bool suits(const GpuOffer& offer, const GpuRequest& request) {
  switch (request.form) {
    case GpuRequest::Form::none:
      return true;
    case GpuRequest::Form::whole:
      return offer.profile.empty() && offer.shares == 1 && offer.resource != shared_gpu;
    case GpuRequest::Form::share:
      return offer.profile.empty() && offer.shares == request.parts && !offer.resource.empty();
    case GpuRequest::Form::mig:
      return offer.profile == "mig" || offer.resource == resource_of(request.profile);
  }
  return false;
}

/// "gpu1: 1 of 4 free, held by default/anna-0 (3)"
std::string line_of(const GpuOffer& offer, const GpuSupply& supply) {
  std::string what = offer.profile.empty() ? "" : offer.profile + " ";
  if (offer.shares > 1) what = fmt::format("shares of 1/{} ", offer.shares);
  std::string line = supply.pods_of.empty() ? fmt::format("{}: {} of {} {}free", base::printable(offer.node),
                                                          offer.free, offer.all, what)
                                            : fmt::format("{}: {} {}in all, of which others may hold some",
                                                          base::printable(offer.node), offer.all, what);
  if (!offer.holders.empty()) line += ", held by " + base::printable(base::join(offer.holders, ", "), 300);
  return line;
}

std::string lines_of(const GpuSupply& supply) {
  std::vector<std::string> lines;
  for (const GpuOffer& offer : supply.offers) lines.push_back(line_of(offer, supply));
  for (const std::string& node : supply.unusable) lines.push_back(base::printable(node));
  return lines.empty() ? "no node offers GPUs" : base::join(lines, "; ");
}

std::string hint_for(const GpuSupply& supply, const GpuRequest& request) {
  if (supply.offers.empty()) return "gpuadm verify";
  if (request.form == GpuRequest::Form::share || request.form == GpuRequest::Form::whole)
    for (const GpuOffer& offer : supply.offers)
      if (offer.profile.empty() && !offer.resource.empty() && !suits(offer, request))
        return offer.shares > 1 ? fmt::format("GPUs of {} are shared by {} pods each: --gpus 1/{}",
                                              offer.node, offer.shares, offer.shares)
                                : fmt::format("gpuadm gpu share {} {}", offer.node, request.parts);
  return "gpuadm gpu list";
}

long long places(const GpuRequest& request, long long units, Placement placement) {
  const long long each = std::max(1, request.form == GpuRequest::Form::share ? 1 : request.count);
  const long long pods = units / each;
  return placement == Placement::one_per_node ? std::min(1LL, pods) : pods;
}

Tree claim_template_of(const GpuSupply& supply, const GpuRequest& request, const std::string& name,
                       const std::string& ns, const Tree& labels) {
  Tree exactly = Tree::map_of(
      {{"deviceClassName", request.form == GpuRequest::Form::mig ? "mig.nvidia.com" : "gpu.nvidia.com"},
       {"allocationMode", "ExactCount"},
       {"count", request.count}});
  if (request.form == GpuRequest::Form::mig)
    exactly.set(
        "selectors",
        Tree(Tree::List{Tree::map_of(
            {{"cel", Tree::map_of({{"expression", fmt::format("device.attributes['gpu.nvidia.com'].profile "
                                                              "== '{}'",
                                                              request.profile)}})}})}));
  Tree one = Tree::map_of({{"name", "gpus"}});
  if (supply.claims == "v1beta1")
    one.merge(exactly);
  else
    one.set("exactly", std::move(exactly));
  Tree devices = Tree::map_of({{"requests", Tree(Tree::List{std::move(one)})}});
  return Tree::map_of({{"apiVersion", "resource.k8s.io/" + supply.claims},
                       {"kind", "ResourceClaimTemplate"},
                       {"metadata", Tree::map_of({{"name", name}, {"namespace", ns}, {"labels", labels}})},
                       {"spec", Tree::map_of({{"spec", Tree::map_of({{"devices", std::move(devices)}})}})}});
}

/// Nodes with another number of shares, or with whole GPUs, may offer the same resource. Nodes without shares
/// may have no label.
void select_nodes(const GpuSupply& supply, const GpuRequest& request, GpuParts& parts) {
  if (request.form == GpuRequest::Form::share)
    parts.node_selector = Tree::map_of({{replicas_label, std::to_string(request.parts)}});
  if (request.form != GpuRequest::Form::whole || supply.share_counts.empty()) return;
  Tree counts = Tree::list();
  for (const int count : supply.share_counts) counts.push(std::to_string(count));
  parts.node_expression =
      Tree::map_of({{"key", replicas_label}, {"operator", "NotIn"}, {"values", std::move(counts)}});
}

/// A pod fits a node if it fits one of the terms.
void add_to_terms(Tree& pod_spec, const Tree& expression) {
  Tree& terms = pod_spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                        ["nodeSelectorTerms"];
  if (terms.items().empty()) terms.push(Tree::map());
  for (Tree& term : terms.items()) term["matchExpressions"].push(expression);
}

}  // namespace

std::string why_no_pods(const facts::Node& node) {
  const auto ready = node.conditions.find("Ready");
  if (ready == node.conditions.end() || ready->second.status != "True") return "NotReady";
  if (node.unschedulable) return "cordoned";
  const auto is_tolerated = [](const facts::Taint& taint) {
    return taint.effect == "NoExecute" &&
           (taint.key == "node.kubernetes.io/not-ready" || taint.key == "node.kubernetes.io/unreachable");
  };
  for (const facts::Taint& taint : node.taints)
    if ((taint.effect == "NoSchedule" || taint.effect == "NoExecute") && !is_tolerated(taint))
      return "taint " + taint.key;
  return "";
}

bool is_gpu_resource(std::string_view resource) {
  return resource == whole_gpu || resource == shared_gpu || resource.starts_with(mig_prefix);
}

std::string mig_profile_of(std::string_view resource) {
  if (!resource.starts_with(mig_prefix)) return {};
  std::string profile(resource.substr(mig_prefix.size()));
  if (const std::size_t at = profile.find("gb."); at != std::string::npos) profile[at + 2] = '+';
  return profile;
}

Result<GpuSupply> supply_of(const facts::ClusterFacts& cluster) {
  TRY(facts::require_nodes_and_pods(cluster));
  GpuSupply supply;
  supply.pods_of = base::printable(cluster.pods_of, 63);
  if (cluster.runtime_classes && cluster.runtime_classes->contains("nvidia")) supply.runtime_class = "nvidia";
  for (const facts::Node& node : *cluster.nodes) {
    const bool claims = allocates_by_claims(cluster, node);
    const bool some = claims || std::ranges::any_of(node.capacity, [](const auto& of) {
                        return is_gpu_resource(of.first) && base::to_int(of.second).value_or(0) > 0;
                      });
    if (!some) continue;
    if (!claims && shares_of(node) > 1 && node.capacity.contains(std::string(whole_gpu)))
      supply.share_counts.insert(shares_of(node));
    if (const std::string why = why_no_pods(node); !why.empty()) {
      supply.unusable.push_back(node.name + ": " + why);
      continue;
    }
    if (claims) {
      supply.claims = facts::claim_version(cluster);
      add_claim_offers(cluster, node, supply);
    } else {
      add_plugin_offers(cluster, node, supply);
    }
  }
  return supply;
}

GpuSupply supply_of(const spec::Cluster& file) {
  GpuSupply supply;
  if (file.gpu.allocator == spec::Allocator::dra) supply.claims = "v1";
  supply.runtime_class = "nvidia";
  return supply;
}

std::string note_of_share(const GpuSupply& supply, const GpuRequest& request) {
  if (request.form != GpuRequest::Form::share) return {};
  for (const GpuOffer& offer : supply.offers)
    if (offer.time_sliced && suits(offer, request))
      return fmt::format(
          "{} of {} is by time-slicing, which does not limit memory: pods on the same GPU can run out of it "
          "because of each other. MPS limits it: gpuadm gpu share {} mps:{}",
          describe(request), base::printable(offer.node), base::printable(offer.node), request.parts);
  return {};
}

Result<> check_fit(const GpuSupply& supply, const GpuRequest& request, int pods, Placement placement) {
  if (!request.any()) return {};
  long long now = 0, ever = 0;
  for (const GpuOffer& offer : supply.offers) {
    if (!suits(offer, request)) continue;
    now += places(request, offer.free, placement);
    ever += places(request, offer.all, placement);
  }
  if (now >= pods) return {};
  const std::string needed =
      describe(request) +
      (pods == 1 ? ""
                 : fmt::format(" for each of {} pods{}", pods,
                               placement == Placement::one_per_node ? " on different nodes" : ""));
  const std::string problem = ever >= pods ? "needed, but not free now" : "more than the cluster has";
  return base::fail(Fault::blocked, fmt::format("{}: {} ({})", needed, problem, lines_of(supply)),
                    hint_for(supply, request));
}

GpuParts parts_of(const GpuSupply& supply, const GpuRequest& request, const std::string& name,
                  const std::string& ns, const Tree& labels) {
  GpuParts parts;
  if (!request.any()) return parts;
  if (!supply.claims.empty() && request.form != GpuRequest::Form::share) {
    parts.claim_template = claim_template_of(supply, request, name, ns, labels);
    parts.container_claims = Tree(Tree::List{Tree::map_of({{"name", "gpus"}})});
    parts.pod_claims =
        Tree(Tree::List{Tree::map_of({{"name", "gpus"}, {"resourceClaimTemplateName", name}})});
    return parts;
  }
  std::string resource(whole_gpu);
  if (request.form == GpuRequest::Form::mig) resource = resource_of(request.profile);
  for (const GpuOffer& offer : supply.offers)
    if (request.form == GpuRequest::Form::share && suits(offer, request)) resource = offer.resource;
  parts.limits = Tree::map_of({{resource, request.count}});
  parts.runtime_class = supply.runtime_class;
  select_nodes(supply, request, parts);
  return parts;
}

void add_gpus(Tree& pod_spec, const GpuParts& parts, std::size_t container) {
  if (!parts.runtime_class.empty()) pod_spec.set("runtimeClassName", parts.runtime_class);
  if (!parts.node_selector.is_null()) pod_spec["nodeSelector"].merge(parts.node_selector);
  if (!parts.node_expression.is_null()) add_to_terms(pod_spec, parts.node_expression);
  if (!parts.pod_claims.is_null()) pod_spec.set("resourceClaims", parts.pod_claims);
  Tree& resources = pod_spec["containers"].items().at(container)["resources"];
  if (!parts.limits.is_null()) resources["limits"].merge(parts.limits);
  if (!parts.container_claims.is_null()) resources.set("claims", parts.container_claims);
}

}  // namespace workload
