#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/checks/checks.hpp"
#include "gpuadm/cluster/status.hpp"
#include "gpuadm/session/recording.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace commands {

/// The status of a cluster, and what it was judged from.
struct JudgedStatus {
  cluster::Status status;
  std::optional<facts::ClusterFacts> view;
  std::vector<report::Finding> findings;  ///< of hosts with GPUs: stages node and cluster
};

/// Judges surveys. Reads the data of the checks once, if there is a GPU.
class StatusJudge {
 public:
  /// `rest`: the arguments that select the same hosts, for suggested commands (session::typed). `assets` must
  /// outlive this.
  StatusJudge(const assets::Store& assets, std::string rest) : assets_(assets), rest_(std::move(rest)) {}
  /// `asked`: the control-plane node that described the cluster; empty: none did.
  [[nodiscard]] base::Result<JudgedStatus> judge(const session::ClusterSurvey& survey,
                                                 const std::string& asked);

 private:
  [[nodiscard]] base::Result<std::vector<report::Finding>> gpu_findings(
      const session::ClusterSurvey& survey, const std::optional<facts::ClusterFacts>& view);

  const assets::Store& assets_;
  std::string rest_;
  std::shared_ptr<const checks::Data> data_;
};

}  // namespace commands
