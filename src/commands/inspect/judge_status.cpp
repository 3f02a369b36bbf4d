#include "commands/inspect/judge_status.hpp"

#include <algorithm>

namespace commands {

/// They explain why a GPU is not allocatable.
base::Result<std::vector<report::Finding>> StatusJudge::gpu_findings(
    const session::ClusterSurvey& survey, const std::optional<facts::ClusterFacts>& view) {
  facts::Census census;
  for (const auto& [host, facts] : survey.survey.census)
    if (facts && !(facts->nvidia.pci_gpus.empty() && facts->nvidia.gpus.empty())) census.emplace(host, facts);
  if (census.empty()) return {};
  if (!data_) data_ = TRY(checks::read_data([&](std::string_view path) { return assets_.read(path); }));
  auto findings = checks::examine(survey.cluster, {}, census, *data_, checks::Stage::node);
  if (view)
    std::ranges::move(checks::examine_cluster(survey.cluster, census, *view, *data_),
                      std::back_inserter(findings));
  return findings;
}

base::Result<JudgedStatus> StatusJudge::judge(const session::ClusterSurvey& survey,
                                              const std::string& asked) {
  JudgedStatus judged;
  if (survey.view) judged.view = TRY(facts::parse_cluster(*survey.view));
  judged.findings = TRY(gpu_findings(survey, judged.view));
  judged.status =
      cluster::status_of({survey.cluster, survey.survey.census, judged.view, asked}, judged.findings);
  for (cluster::Problem& problem : judged.status.problems)
    if (problem.remedy.starts_with("gpuadm ")) problem.remedy += rest_;
  return judged;
}

}  // namespace commands
