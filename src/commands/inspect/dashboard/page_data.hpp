#pragma once

#include "gpuadm/cluster/gpu_board.hpp"
#include "gpuadm/session/watch.hpp"

#include "commands/inspect/judge_status.hpp"

#include <optional>
#include <string>

namespace commands {

/// What the page of `gpuadm dashboard` shows, as two texts of JSON: one that changes with every sample, and
/// one that changes when something else of the cluster was read. Texts of hosts are printable and bounded in
/// both.
class PageData {
 public:
  /// Both must outlive this. `interval`: seconds between two samples.
  PageData(session::ClusterReadings& readings, StatusJudge& judges, int interval);

  /// The last samples. An error ends the sampling.
  [[nodiscard]] base::Result<> show(const session::GpuSamples& samples, session::SampleMoment moment);
  /// Judges what was read so far, even if it was judged a moment ago.
  [[nodiscard]] base::Result<> judge();
  /// The verdict, hosts and GPUs, with the version of the other text.
  [[nodiscard]] const std::string& live();
  /// The cluster: problems, nodes, chains, workloads, health.
  [[nodiscard]] const std::string& cluster();

 private:
  [[nodiscard]] base::Tree hosts_tree() const;
  [[nodiscard]] base::Tree verdict_tree() const;
  [[nodiscard]] cluster::Verdict verdict() const;
  [[nodiscard]] base::Tree health_tree() const;
  [[nodiscard]] std::string old_because() const;

  session::ClusterReadings& readings_;
  StatusJudge& judges_;
  const int interval_;
  cluster::GpuBoard board_;
  std::optional<cluster::Verdict> verdict_;  ///< of the last judgment; nothing: there was none
  std::string time_;
  std::size_t judged_ = 0;      ///< the version of the readings that was judged
  base::Instant judge_at_;      ///< not before
  std::string live_, cluster_;  ///< live_ empty: to be made again
};

}  // namespace commands
