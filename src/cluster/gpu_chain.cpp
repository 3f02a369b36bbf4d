#include "gpuadm/cluster/gpu_chain.hpp"

#include <algorithm>

namespace cluster {

namespace {

using base::Tree;
using checks::Link;
using report::Finding;

/// Whether a link is known without pods.
bool is_read(Link link) {
  return !checks::needs_pods(link) && !checks::needs_network_proof(link);
}

std::string_view state_of(const Finding& finding) {
  if (report::is_open(finding)) return finding.verdict == report::Verdict::fail ? "broken" : "unknown";
  return finding.verdict == report::Verdict::pass ? "ok" : "skipped";
}

Tree tree_of_chain(const GpuChain& chain) {
  Tree links = Tree::map(), first;
  for (const Link link : checks::all_links()) {
    if (!is_read(link)) continue;
    const auto index = static_cast<std::size_t>(links.entries().size());
    if (index >= chain.links.size()) {
      links.set(checks::name_of(link), Tree::map_of({{"state", "not reached"}, {"message", ""}}));
      continue;
    }
    const Finding& finding = chain.links[index];
    const bool open = report::is_open(finding);
    const bool passed = finding.verdict == report::Verdict::pass;
    links.set(checks::name_of(link),
              Tree::map_of(
                  {{"state", state_of(finding)}, {"message", passed ? finding.evidence : finding.message}}));
    if (open)
      first = Tree::map_of({{"link", checks::name_of(link)},
                            {"message", finding.message},
                            {"evidence", finding.evidence},
                            {"remedy", finding.remedy}});
  }
  return Tree::map_of({{"host", chain.host},
                       {"node", chain.node},
                       {"gpus", chain.gpus},
                       {"links", std::move(links)},
                       {"first", std::move(first)}});
}

}  // namespace

std::vector<GpuChain> gpu_chains(const spec::Cluster& cluster, const facts::Census& census,
                                 const std::optional<facts::ClusterFacts>& view,
                                 std::span<const Finding> findings) {
  const facts::ClusterFacts known = view.value_or(facts::ClusterFacts{});
  const checks::ChainInputs inputs{cluster, census, known, findings};
  std::vector<GpuChain> chains;
  for (const checks::GpuNode& node : checks::gpu_nodes(cluster, census, known)) {
    GpuChain chain{node.host, node.node, node.counted, {}};
    for (const Link link : checks::all_links()) {
      if (!is_read(link)) continue;
      if (!known.nodes && link > Link::nvml) break;
      chain.links.push_back(checks::examine_link(link, node, inputs));
      if (report::is_open(chain.links.back())) break;
    }
    chains.push_back(std::move(chain));
  }
  return chains;
}

Tree to_tree(std::span<const GpuChain> chains) {
  Tree list = Tree::list();
  for (const GpuChain& chain : chains) list.push(tree_of_chain(chain));
  return list;
}

}  // namespace cluster
