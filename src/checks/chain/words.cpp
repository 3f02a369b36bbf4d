#include "checks/chain/words.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/gpu_use.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/queries.hpp"

#include <algorithm>

/// Shared by all links: the nodes, and their findings.
namespace checks {

namespace {

constexpr std::string_view whole_gpu = "nvidia.com/gpu", shared_gpu = "nvidia.com/gpu.shared";
constexpr std::string_view own_ns = "gpuadm-verify";

using report::Finding;
using report::Verdict;

Finding finding_of(Link link, const GpuNode& node, Verdict verdict, const std::string& message,
                   const std::string& evidence, const std::string& remedy) {
  Finding finding;
  finding.id = fmt::format("verify.{}", name_of(link));
  finding.severity = Severity::blocker;
  finding.verdict = verdict;
  finding.host = node.host;
  finding.message = message;
  finding.evidence = base::printable(evidence, 1000);
  finding.remedy = remedy;
  return finding;
}

/// One of the host's and the node's name may include a domain.
bool same_host(const std::string& host, const std::string& node) {
  return host == node || host.substr(0, host.find('.')) == node.substr(0, node.find('.'));
}

int shares_of(const spec::Cluster& cluster, const std::string& host, const facts::Facts& facts,
              const facts::Node* node) {
  const auto labelled = node ? base::to_int(label(*node, "nvidia.com/gpu.replicas")) : std::nullopt;
  if (labelled && *labelled > 0) return static_cast<int>(*labelled);
  const auto place = std::ranges::find(cluster.hosts, host, &spec::Host::name);
  if (place == cluster.hosts.end()) return 1;
  return std::max(1, spec::layout_of(cluster, *place, facts::models_of(facts.nvidia)).sharing.replicas);
}

void count(GpuNode& node, const facts::GpuUsage& usage) {
  node.allocatable = usage.all;
  node.held = usage.held;
  for (const facts::GpuUse& use : usage.uses) node.holders.push_back(use.holder);
}

/// The node's GPUs in ResourceSlices, and their claims, except those left over from an earlier verify.
void count_claims(GpuNode& node, const facts::ClusterFacts& facts) {
  node.claims = facts::claim_version(facts);
  if (node.claims.empty()) node.claims = "v1";
  node.resource = "device of gpu.nvidia.com";
  node.runtime_class.clear();  // the container runtime uses CDI
  node.shares = 1;
  count(node, facts::claimed_gpu_usage(
                  facts, node.node, node.mig ? facts::Devices::mig_instances : facts::Devices::all, own_ns));
}

GpuNode node_of(const spec::Cluster& cluster, const std::string& name, const facts::Facts& host,
                const facts::ClusterFacts& facts) {
  GpuNode made;
  made.host = name;
  made.counted = static_cast<int>(facts::usable_gpus(host.nvidia).size());
  made.mig = has_mig(host.nvidia);
  if (facts.runtime_classes && facts.runtime_classes->contains("nvidia")) made.runtime_class = "nvidia";
  const std::string& own = host.machine.hostname.empty() ? name : host.machine.hostname;
  const facts::Node* found = nullptr;
  if (facts.nodes)
    for (const facts::Node& node : *facts.nodes)
      if (same_host(own, node.name)) found = &node;
  made.shares = shares_of(cluster, name, host, found);
  if (!found) return made;
  made.node = found->name;
  if (cluster.gpu.allocator == spec::Allocator::dra || allocates_by_claims(facts, *found)) {
    count_claims(made, facts);
    return made;
  }
  if (amount(found->allocatable, whole_gpu) == 0 && amount(found->allocatable, shared_gpu) > 0)
    made.resource = shared_gpu;
  count(made, facts::gpu_usage(facts, *found, made.resource, own_ns));
  return made;
}

}  // namespace

Finding holds(Link link, const GpuNode& on, const std::string& evidence) {
  return finding_of(link, on, Verdict::pass, std::string(title_of(link)), evidence, "");
}

Finding broken(Link link, const GpuNode& on, const std::string& message, const std::string& evidence,
               const std::string& remedy, const std::string& cause) {
  Finding finding = finding_of(link, on, Verdict::fail, message, evidence, remedy);
  finding.caused_by = cause;
  return finding;
}

Finding untried(Link link, const GpuNode& on, const std::string& why) {
  return finding_of(link, on, Verdict::skip, why, "", "");
}

const facts::Node* node_named(const facts::ClusterFacts& facts, std::string_view name) {
  if (!facts.nodes || name.empty()) return nullptr;
  const auto place = std::ranges::find(*facts.nodes, name, &facts::Node::name);
  return place == facts.nodes->end() ? nullptr : &*place;
}

std::vector<GpuNode> gpu_nodes(const spec::Cluster& cluster, const facts::Census& census,
                               const facts::ClusterFacts& facts) {
  std::vector<GpuNode> found;
  for (const auto& [name, host] : census) {
    if (!host) continue;
    GpuNode made = node_of(cluster, name, *host, facts);
    if (has_gpu(*host) || made.allocatable > 0) found.push_back(std::move(made));
  }
  return found;
}

std::vector<GpuNode> cluster_nodes(const spec::Cluster& cluster, const facts::Census& census,
                                   const facts::ClusterFacts& facts) {
  std::vector<GpuNode> found;
  for (const auto& [name, host] : census) {
    if (!host) continue;
    GpuNode made = node_of(cluster, name, *host, facts);
    if (!made.node.empty()) found.push_back(std::move(made));
  }
  return found;
}

}  // namespace checks
