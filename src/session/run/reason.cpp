#include "session/run/reason.hpp"

#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace session {

namespace {

using report::Event;
using report::Finding;

constexpr std::chrono::seconds reason_timeout{60};

/// Phases whose steps depend on processes of a host: a phase, or a prefix that ends in a slash.
constexpr std::array phases = std::to_array<std::string_view>(
    {"kube/init", "kube/join", "kube/join-control-plane", "kube/vip", "network/", "verify/", "upgrade/",
     "gpu/device-plugin", "gpu/dra", "gpu/offered"});

/// Checks of a node whose failure stops such a step, in addition to those of playbooks/reasons.sh.
constexpr std::array node_checks = std::to_array<std::string_view>(
    {"kernel.inotify-left", "kubelet.exits", "host.disk.no-space", "rt.sandbox-missing", "kubelet.containers",
     "net.cni-plugin", "rt.image-pull", "kubelet.config-readable", "kubelet.swap-policy", "kubelet.eviction",
     "kubelet.unknown-flags", "kubelet.feature-gates", "kubelet.cpu-topology-manager",
     "kubelet.cgroup-driver-match", "rt.present", "rt.cri.socket", "host.disk.root-free", "host.disk.inodes",
     "rt.containerd.root-space"});
constexpr std::array cluster_checks =
    std::to_array<std::string_view>({"cl.system-pods", "cl.image-pull-secrets", "cl.nodes-ready"});

template <std::size_t N>
void keep_failed(std::vector<Finding>& findings, const std::array<std::string_view, N>& ids) {
  std::erase_if(findings, [&](const Finding& finding) {
    return finding.verdict != report::Verdict::fail || finding.severity == report::Severity::note ||
           std::ranges::find(ids, std::string_view(finding.id)) == ids.end();
  });
}

/// The output of a read-only command on these hosts. Failed ones are omitted.
std::map<std::string, transport::Exit> ask(const std::vector<std::string>& hosts, transport::Command command,
                                           transport::Fleet& fleet) {
  std::map<std::string, transport::Exit> answers;
  command.timeout = reason_timeout;
  for (const std::string& host : hosts) fleet.submit(host, command);
  while (auto completion = fleet.next())
    if (completion->result) answers.emplace(completion->host, std::move(*completion->result));
  return answers;
}

Result<std::vector<Finding>> of_hosts(const spec::Cluster& cluster, const spec::Decisions& decisions,
                                      const assets::Store& assets, transport::Fleet& fleet,
                                      facts::Census& census) {
  for (auto& [host, answer] : ask(fleet.hosts(), TRY(probe_command(assets, Reasons::read)), fleet))
    if (auto facts = read_probe(host, answer, base::now())) census.emplace(host, std::move(facts));
  std::vector<Finding> findings = TRY(find(cluster, decisions, census, assets, checks::Stage::node));
  keep_failed(findings, node_checks);
  return findings;
}

/// The pods and nodes of the cluster, from the first control-plane node that responds.
Result<std::vector<Finding>> of_cluster(const spec::Cluster& cluster, const assets::Store& assets,
                                        transport::Fleet& fleet, const facts::Census& census) {
  for (const spec::Host& host : cluster.hosts) {
    if (!facts::is_control_plane(census, host.name)) continue;
    const auto answers = ask({host.name}, TRY(view_command(assets)), fleet);
    if (answers.empty()) continue;
    auto findings = TRY(find_in_cluster(cluster, census, answers.begin()->second.out, assets));
    keep_failed(findings, cluster_checks);
    return findings;
  }
  return {};
}

Result<std::vector<Finding>> reasons(const spec::Cluster& cluster, const spec::Decisions& decisions,
                                     const assets::Store& assets, transport::Fleet& fleet) {
  facts::Census census;
  std::vector<Finding> findings = TRY(of_hosts(cluster, decisions, assets, fleet, census));
  if (!findings.empty()) return findings;
  return of_cluster(cluster, assets, fleet, census);
}

}  // namespace

void FailureLog::on(const Event& event) {
  const auto concerns = [&](std::string_view phase) {
    return phase.ends_with('/') ? event.stage.starts_with(phase) : event.stage == phase;
  };
  if (event.did == report::Did::failed && std::ranges::any_of(phases, concerns)) all_.push_back(event);
  next_.on(event);
}

void explain_failures(const std::vector<Event>& failures, const spec::Cluster& cluster,
                      const spec::Decisions& decisions, const assets::Store& assets, transport::Fleet& fleet,
                      const RunFolder& folder, report::Reporter& reporter) {
  if (failures.empty() || fleet.interrupted()) return;
  const auto found = reasons(cluster, decisions, assets, fleet);
  // Without an answer, only the run's own error is shown.
  if (!found || found->empty()) return;
  (void)folder.save("reasons.json", report::to_tree(*found));
  for (const Event& failure : failures) {
    // Faults of the host itself take precedence over faults elsewhere.
    std::vector<Finding> here;
    std::ranges::copy_if(*found, std::back_inserter(here),
                         [&](const Finding& finding) { return finding.host == failure.host; });
    const auto chain = report::first_broken(here.empty() ? *found : here);
    if (!chain) continue;
    const Finding& first = *chain->first;
    const bool elsewhere = !first.host.empty() && first.host != failure.host;
    reporter.on({.host = failure.host,
                 .stage = failure.stage,
                 .step = failure.step,
                 .did = report::Did::cause,
                 .detail = elsewhere ? first.host + ": " + first.message : first.message.text(),
                 .hint = first.remedy,
                 .output = first.evidence});
  }
}

}  // namespace session
