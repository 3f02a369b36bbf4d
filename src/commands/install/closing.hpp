#pragma once

#include "gpuadm/checks/chain.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/run_summary.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>

/// The end of init, apply, join, upgrade and up: what stands now, as it was measured after the run.
namespace commands {

/// An outcome, and the number of steps that changed a host.
struct CountedRun {
  Outcome outcome = Outcome::done;
  int changed = 0;
};
/// As session::with_reporter.
[[nodiscard]] Result<CountedRun> run_and_count(const session::RunFolder& folder, Format format, Io& io,
                                               const std::function<Result<Outcome>(report::Reporter&)>& act);

/// Whether pods compute on the GPUs that are free, as in `gpuadm verify --only compute`.
enum class ComputeTest { done, left_out };

/// A run whose cluster is measured.
struct Closing {
  const spec::Cluster& cluster;
  const session::RunContext& session;
  const assets::Store& assets;
  std::optional<std::filesystem::path> kubeconfig;
  Waiting waiting = Waiting::until_it_works;
  std::optional<base::Version> kubernetes;
  ComputeTest compute = ComputeTest::left_out;
  std::optional<Computed> computed = {};  ///< by an earlier test of the same command
  std::string notebook = {};              ///< that is ready; empty: none
};

/// The GPUs on which these findings of `gpuadm verify` say that pods computed. Nothing: none was tested.
[[nodiscard]] std::optional<Computed> computed_in(std::span<const report::Finding> findings,
                                                  std::span<const checks::GpuNode> nodes);

/// Reads the cluster, tests its GPUs if that is requested, and describes what stands. What could not be read
/// is said to be unknown.
[[nodiscard]] std::string closing_text(const Closing& closing, Io& io);

}  // namespace commands
