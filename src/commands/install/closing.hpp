#pragma once

#include "gpuadm/checks/chain.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/run_summary.hpp"

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

/// The end of init, apply, join, upgrade and up: the state of the cluster, as it was measured after the run.
namespace commands {

/// An outcome, the hosts that a step has changed, and whether a step was needed at all.
struct CountedRun {
  Outcome outcome = Outcome::done;
  std::set<std::string> changed;
  bool needed = false;
};
/// As session::with_reporter.
[[nodiscard]] Result<CountedRun> run_and_count(const session::RunFolder& folder, Format format, Io& io,
                                               const std::function<Result<Outcome>(report::Reporter&)>& act);

/// A run whose cluster is measured.
struct Closing {
  const spec::Cluster& cluster;
  const session::RunContext& session;
  const assets::Store& assets;
  std::optional<std::filesystem::path> kubeconfig;
  Waiting waiting = Waiting::until_it_works;
  std::optional<base::Version> kubernetes;
  /// On whose free GPUs pods compute, as in `gpuadm verify --only compute`: those that the run has changed.
  std::set<std::string> compute_on = {};
  std::optional<Computed> computed = {};  ///< by an earlier test of the same command
  std::string notebook = {};              ///< that is ready; empty: none
  /// Facts of the hosts, if the run found nothing to do after it had read them.
  const facts::Census* known = nullptr;
};

/// The GPUs on which these findings of `gpuadm verify` say that pods computed. Nothing: none was tested.
[[nodiscard]] std::optional<Computed> computed_in(std::span<const report::Finding> findings,
                                                  std::span<const checks::GpuNode> nodes);

/// The operator's copy of a cluster's kubeconfig; nothing: there is none.
[[nodiscard]] std::optional<std::filesystem::path> own_kubeconfig(const std::string& cluster);

/// Reads the cluster, tests its GPUs if that is requested, and describes its state. What could not be read is
/// said to be unknown.
[[nodiscard]] std::string closing_text(const Closing& closing, Io& io);

}  // namespace commands
