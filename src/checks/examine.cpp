#include "checks/check.hpp"
#include "checks/evidence.hpp"
#include "checks/family_commands.hpp"
#include "checks/gpu/queries.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace checks {

namespace {

using report::Finding;
using report::Verdict;

std::optional<base::Version> kubernetes_of(const spec::Cluster& cluster, const spec::Decisions& decisions,
                                           const facts::Facts& facts, const Data& data) {
  if (const auto version = spec::kubernetes_of(cluster, decisions)) return version;
  if (cluster.kubernetes.source == spec::Source::bundle) return std::nullopt;
  if (facts.kubernetes.kubeadm) return base::Version::parse(*facts.kubernetes.kubeadm);
  return cluster.kubernetes.source == spec::Source::packages ? data.kubernetes : std::nullopt;
}

/// The host's entry in the cluster file; otherwise a default control-plane node.
const spec::Host& host_named(const spec::Cluster& cluster, const std::string& name, spec::Host& other) {
  const auto place = std::ranges::find(cluster.hosts, name, &spec::Host::name);
  if (place != cluster.hosts.end()) return *place;
  other.name = name;
  return other;
}

/// The GPUs in quarantine are known to be broken, and no pod gets them: findings about them are notes. A
/// finding that also names another GPU remains.
void excuse_quarantined(const facts::Nvidia& nvidia, const std::vector<facts::QuarantinedGpu>& kept,
                        Finding& finding) {
  if (kept.empty() || !report::is_open(finding) || finding.severity == report::Severity::note) return;
  bool quarantined = false, other = false;
  for (const facts::Gpu& gpu : nvidia.gpus)
    if (names_gpu(finding, gpu.bus_id, &gpu))
      (std::ranges::find(kept, gpu.uuid, &facts::QuarantinedGpu::uuid) == kept.end() ? other : quarantined) =
          true;
  for (const facts::QuarantinedGpu& entry : kept)
    if (finding.message.contains(entry.uuid) || names_gpu(finding, entry.slot, nullptr)) quarantined = true;
  if (!quarantined || other) return;
  finding.severity = report::Severity::note;
  finding.message += " (in quarantine)";
}

/// The hosts by the names of their nodes. A host without a node, or whose node several hosts may be, has its
/// own name.
std::map<std::string, const facts::Facts*> by_node(const facts::Census& census,
                                                   const facts::ClusterFacts& cluster) {
  std::map<std::string, const facts::Facts*> hosts;
  std::map<std::string, std::vector<const facts::Facts*>> alike;  // by the node
  for (const auto& [name, host] : census) {
    if (!host) continue;
    const facts::Node* node = facts::node_of(cluster, *host);
    const std::string own = facts::node_name_of(*host);
    if (node && node->name != own)
      alike[node->name].push_back(&*host);
    else
      hosts.emplace(own.empty() ? name : own, &*host);
  }
  for (const auto& [node, candidates] : alike)
    for (const facts::Facts* host : candidates)
      hosts.emplace(candidates.size() == 1 && !hosts.contains(node) ? node : facts::node_name_of(*host),
                    host);
  return hosts;
}

/// Whether a check has named its cause (Verdicts::follows), and that fails, too.
bool is_named_cause(std::string_view cause, std::span<const Finding> findings) {
  return !cause.empty() && std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.id == cause && finding.verdict == Verdict::fail;
  });
}

void examine_host(const Subject& subject, const base::SharedText& name, std::vector<Finding>& findings,
                  base::SharedTexts& texts) {
  std::vector<Finding> here;
  // A probe without any tool and path is incomplete.
  const bool blank = subject.facts.software.tools.empty() && subject.facts.software.paths.empty();
  for (const Check& check : all_checks()) {
    if ((check.stages & static_cast<unsigned>(subject.stage)) == 0 || !check.examine) continue;
    Verdicts verdicts(check.id, name, here, texts);
    check.examine(subject, verdicts);
    if (verdicts.silent() && blank) verdicts.unknown("the probe read nothing of this host");
    if (verdicts.silent()) verdicts.pass(std::string(check.title));
    if (const auto why = unread_evidence(check.reads, subject.facts.unread)) verdicts.withhold(*why);
  }
  std::vector<facts::QuarantinedGpu> kept = subject.facts.nvidia.quarantine;
  std::erase_if(kept,
                [&](const facts::QuarantinedGpu& gpu) { return !ignores_quarantine(subject, gpu).empty(); });
  for (Finding& finding : here) {
    if (finding.remedy.text().contains('@'))
      finding.remedy = texts.get(with_family_commands(finding.remedy, subject.facts));
    if (finding.verdict == Verdict::fail && !is_named_cause(finding.caused_by, here))
      finding.caused_by = texts.get(cause_of(finding.id, here, subject.data.catalogue));
    excuse_quarantined(subject.facts.nvidia, kept, finding);
  }
  std::ranges::move(here, std::back_inserter(findings));
}

}  // namespace

bool names_gpu(const report::Finding& finding, const std::string& slot, const facts::Gpu* gpu) {
  std::vector<std::string> names = {slot};
  if (gpu) names.insert(names.end(), {fmt::format("GPU {} (", gpu->index), gpu->uuid});
  return std::ranges::any_of(names, [&](const std::string& name) {
    return !name.empty() && (finding.message.contains(name) || finding.evidence.contains(name));
  });
}

std::vector<report::Finding> examine(const spec::Cluster& cluster, const spec::Decisions& decisions,
                                     const facts::Census& census, const Data& data, Stage stage,
                                     const Selection& hosts) {
  std::vector<Finding> findings;
  base::SharedTexts texts;
  Group group{cluster, {}};
  for (const auto& [name, facts] : census)
    if (facts && (!hosts || hosts(*facts))) group.hosts.emplace(name, &*facts);
  const auto rows = std::ranges::count_if(all_checks(), [&](const Check& check) {
    return (check.stages & static_cast<unsigned>(stage)) != 0 && (check.examine || check.across);
  });
  findings.reserve(static_cast<std::size_t>(rows) * (group.hosts.size() + 1));
  for (const auto& [name, facts] : group.hosts) {
    spec::Host other;
    const Subject subject{cluster,
                          decisions,
                          host_named(cluster, name, other),
                          *facts,
                          data,
                          stage,
                          kubernetes_of(cluster, decisions, *facts, data)};
    examine_host(subject, name, findings, texts);
  }
  if (group.hosts.empty()) return findings;
  for (const Check& check : all_checks()) {
    if ((check.stages & static_cast<unsigned>(stage)) == 0 || !check.across) continue;
    Verdicts verdicts(check.id, {}, findings, texts);
    if (group.hosts.size() < 2)
      verdicts.not_applicable("there is only one host");
    else
      check.across(group, verdicts);
    if (verdicts.silent()) verdicts.pass(std::string(check.title));
    for (const auto& [name, facts] : group.hosts)
      if (const auto why = unread_evidence(check.reads, facts->unread))
        verdicts.withhold(fmt::format("{}: {}", name, *why));
  }
  return findings;
}

std::vector<report::Finding> examine_cluster(const spec::Cluster& cluster, const facts::Census& census,
                                             const facts::ClusterFacts& facts, const Data& data) {
  std::vector<Finding> findings;
  base::SharedTexts texts;
  const Whole whole{cluster, facts, by_node(census, facts), data};
  for (const Check& check : all_checks()) {
    if (!check.whole) continue;
    Verdicts verdicts(check.id, {}, findings, texts);
    check.whole(whole, verdicts);
    if (verdicts.silent()) verdicts.pass(std::string(check.title));
    if (const auto why = unread_evidence(check.reads, facts.unread)) verdicts.withhold(*why);
  }
  for (Finding& finding : findings)
    if (finding.verdict == Verdict::fail && !is_named_cause(finding.caused_by, findings))
      finding.caused_by = cause_of(finding.id, findings, data.catalogue);
  return findings;
}

const Article* article(const Data& data, std::string_view id) {
  const auto place = data.catalogue.find(id);
  return place == data.catalogue.end() ? nullptr : &place->second;
}

std::vector<About> table() {
  std::vector<About> rows;
  for (const Check& check : all_checks()) rows.push_back({check.id, check.title, check.why, check.stages});
  return rows;
}

}  // namespace checks
