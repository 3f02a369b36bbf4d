#include "commands/inspect/judge_status.hpp"

#include "gpuadm/cluster/gpu_chain.hpp"
#include "gpuadm/session/cluster.hpp"

#include <algorithm>

namespace commands {

namespace {

/// Of a host without an NVIDIA device, status reads a part only: its checks would all be unknown.
bool is_examined(const facts::Facts& host) {
  if (!host.nvidia.pci_gpus.empty() || !host.nvidia.gpus.empty()) return true;
  return !host.os.id.empty() && session::state_of(host) != session::HostState::fresh;
}

}  // namespace

base::Result<std::vector<report::Finding>> StatusJudge::find(const cluster::ClusterSurvey& survey) {
  facts::Census census;
  for (const auto& [host, facts] : survey.census)
    if (facts && is_examined(*facts)) census.emplace(host, facts);
  if (census.empty()) return {};
  if (!data_) data_ = TRY(checks::read_data([&](std::string_view path) { return assets_.read(path); }));
  auto findings = checks::examine(survey.cluster, {}, census, *data_, checks::Stage::node);
  if (!survey.view) return findings;
  auto of_cluster = checks::examine_cluster(survey.cluster, census, *survey.view, *data_);
  // Status reads only a part of the cluster's objects; what it lacks of that part, status_of() reports.
  std::erase_if(of_cluster,
                [](const report::Finding& finding) { return finding.verdict == report::Verdict::unknown; });
  std::ranges::move(of_cluster, std::back_inserter(findings));
  return findings;
}

base::Result<JudgedStatus> StatusJudge::judge(const session::ClusterSurvey& survey,
                                              const std::string& asked) {
  std::optional<facts::ClusterFacts> view;
  if (survey.view) view = TRY(facts::parse_cluster(*survey.view));
  return judge(cluster::ClusterSurvey{survey.cluster, survey.survey.census, view, asked}, {});
}

base::Result<JudgedStatus> StatusJudge::judge(const cluster::ClusterSurvey& survey,
                                              std::span<const report::Finding> tested) {
  JudgedStatus judged;
  judged.view = survey.view;
  judged.findings = TRY(find(survey));
  std::ranges::copy(tested, std::back_inserter(judged.findings));
  judged.status = cluster::status_of(survey, judged.findings);
  const spec::Cluster cluster =
      survey.view ? session::fitted(survey.cluster, survey.census, *survey.view) : survey.cluster;
  judged.chains = cluster::gpu_chains(cluster, survey.census, survey.view, judged.findings);
  cluster::Verdict& verdict = judged.status.verdict;
  verdict = cluster::verdict_of(std::move(verdict), judged.findings, judged.chains);
  for (cluster::Problem& problem : verdict.problems)
    if (complete_) problem.remedy = complete_(problem.remedy);
  return judged;
}

}  // namespace commands
