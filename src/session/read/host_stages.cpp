#include "gpuadm/base/text.hpp"
#include "gpuadm/session/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace session {

namespace {

using report::Finding;

constexpr auto preflight = static_cast<unsigned>(checks::Stage::preflight);
constexpr auto node = static_cast<unsigned>(checks::Stage::node);
constexpr auto cluster_stage = static_cast<unsigned>(checks::Stage::cluster);

struct Kind {
  std::string_view name;
  unsigned stages;
};
constexpr Kind kinds[] = {{"a host without Kubernetes", preflight},
                          {"an unfinished node", preflight | node | cluster_stage},
                          {"a worker node", node},
                          {"a control-plane node", node | cluster_stage}};

bool is_node(const Kind& kind) {
  return (kind.stages & preflight) == 0;
}

const Kind& kind_of(const facts::Facts& facts) {
  return kinds[static_cast<std::size_t>(state_of(facts))];
}

/// Appends with one allocation of the final size: with many hosts, findings are most of the memory.
void append(std::vector<Finding>& findings, std::vector<Finding> more) {
  if (findings.empty()) {
    findings = std::move(more);
    return;
  }
  findings.reserve(findings.size() + more.size());
  std::ranges::move(more, std::back_inserter(findings));
}

}  // namespace

HostState state_of(const facts::Facts& facts) {
  const auto& kubernetes = facts.kubernetes;
  const bool plane =
      kubernetes.admin_conf || std::ranges::count(kubernetes.manifests, "kube-apiserver.yaml") > 0;
  const bool any = plane || kubernetes.kubelet_conf || kubernetes.bootstrap_conf || kubernetes.ca ||
                   !kubernetes.manifests.empty();
  if (!any) return HostState::fresh;
  // gpuadm writes one file during kubeadm join, and the other when a control-plane node is complete.
  const bool begun =
      facts.software.paths.contains("/var/lib/gpuadm/joining") ||
      (plane && facts.gpuadm_installed && !facts.software.paths.contains("/var/lib/gpuadm/cluster"));
  if (!kubernetes.kubelet_conf || (plane && !kubernetes.admin_conf) || begun) return HostState::unfinished;
  return plane ? HostState::control_plane : HostState::worker;
}

std::map<std::string, std::string> stages_by_host(const facts::Census& census) {
  std::map<std::string, std::string> stages;
  for (const auto& [host, facts] : census)
    if (facts) stages.emplace(host, stages_of(kind_of(*facts).stages));
  return stages;
}

std::string describe_stages(const facts::Census& census, const std::string& asked) {
  constexpr std::size_t most = 5;
  std::map<std::pair<const Kind*, std::string>, std::vector<std::string>> groups;  // by kind and cluster
  for (const auto& [host, facts] : census) {
    if (!facts) continue;
    const Kind& kind = kind_of(*facts);
    const std::string cluster = is_node(kind) ? facts->kubernetes.cluster_name : "";
    groups[{&kind, cluster}].push_back(base::printable(host));
  }
  std::string text;
  for (auto& [group, hosts] : groups) {
    const auto& [kind, cluster] = group;
    const std::size_t more = hosts.size() > most ? hosts.size() - most : 0;
    hosts.resize(hosts.size() - more);
    const std::string stages = asked.empty() ? base::replace_all(stages_of(kind->stages), ",", ", ") : asked;
    text += fmt::format("{}{}{} as {}{} ({})", text.empty() ? "Checked " : "; ", base::join(hosts, ", "),
                        more > 0 ? fmt::format(" and {} more", more) : "", kind->name,
                        cluster.empty() ? "" : " of cluster " + base::printable(cluster, 100), stages);
  }
  return text;
}

Result<std::vector<Finding>> find_by_state(const spec::Cluster& cluster, const spec::Decisions& decisions,
                                           const facts::Census& census,
                                           const std::optional<std::string>& view,
                                           const assets::Store& assets) {
  const auto data = TRY(checks::read_data([&](std::string_view path) { return assets.read(path); }));
  const auto examine = [&](checks::Stage stage) {
    return checks::examine(cluster, decisions, census, *data, stage, [stage](const facts::Facts& facts) {
      return (kind_of(facts).stages & static_cast<unsigned>(stage)) != 0;
    });
  };
  std::vector<Finding> findings = unreached_in(census);
  append(findings, examine(checks::Stage::node));
  // A check of both stages is evaluated as one of a node: of an unfinished node, or across all nodes.
  std::set<std::string> twice = {""};
  for (const auto& [host, facts] : census)
    if (facts && (kind_of(*facts).stages & preflight) != 0 && (kind_of(*facts).stages & node) != 0)
      twice.insert(host);
  std::set<std::pair<std::string, std::string>> known;
  for (const Finding& finding : findings)
    if (twice.contains(finding.host)) known.emplace(finding.host, finding.id);
  std::vector<Finding> more = examine(checks::Stage::preflight);
  if (!known.empty())
    std::erase_if(more, [&](const Finding& finding) { return known.contains({finding.host, finding.id}); });
  append(findings, std::move(more));
  if (view)
    append(findings, checks::examine_cluster(cluster, census, TRY(facts::parse_cluster(*view)), *data));
  return findings;
}

}  // namespace session
