#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/checks/checks.hpp"
#include "gpuadm/cluster/status.hpp"
#include "gpuadm/session/recording.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace commands {

/// The status of a cluster with its verdict, and what it was judged from.
struct JudgedStatus {
  cluster::Status status;
  std::optional<facts::ClusterFacts> view;
  std::vector<report::Finding> findings;  ///< of the hosts that were read in full, and of the cluster
  std::vector<cluster::GpuChain> chains;
};

/// The judgment that every screen of a cluster shows: status, dashboard, doctor, verify, the end of init.
/// Reads the data of the checks once, if a host was read in full.
class StatusJudge {
 public:
  using Complete = std::function<std::string(std::string_view)>;
  /// `complete`: adds to suggested commands what was typed (report::Style). `assets` must outlive this.
  StatusJudge(const assets::Store& assets, Complete complete)
      : assets_(assets), complete_(std::move(complete)) {}
  /// `asked`: the control-plane node that described the cluster; empty: none did.
  [[nodiscard]] base::Result<JudgedStatus> judge(const session::ClusterSurvey& survey,
                                                 const std::string& asked);
  /// `tested`: what tests have found, in addition to the checks.
  [[nodiscard]] base::Result<JudgedStatus> judge(const cluster::ClusterSurvey& survey,
                                                 std::span<const report::Finding> tested);

 private:
  [[nodiscard]] base::Result<std::vector<report::Finding>> find(const cluster::ClusterSurvey& survey);

  const assets::Store& assets_;
  Complete complete_;
  std::shared_ptr<const checks::Data> data_;
};

}  // namespace commands
