#pragma once

#include "commands/workloads/train/train_session.hpp"

#include <vector>

namespace commands {

/// The Jobs of a job for its next attempt.
struct NextAttempt {
  std::vector<base::Tree> jobs;
  int number = 0;
  int left = 0;  ///< how often its manifest lets gpuadm start it again
};
/// Fault::usage if the job can only begin again.
[[nodiscard]] Result<NextAttempt> read_next_attempt(session::ClusterClient& client,
                                                    const workload::TrainState& state);

/// Ends the ranks of an attempt that does not start. Returns the error with what to type.
[[nodiscard]] base::Error end_attempt(session::ClusterClient& client, const workload::TrainState& state,
                                      base::Error error);

/// Deletes the Jobs of an ended job with their pods, and creates the next ones. Only they define the job:
/// they are created also after Ctrl-C, and until then they are in a file.
[[nodiscard]] Result<> replace_jobs(TrainSession& opened, const workload::TrainState& state,
                                    const NextAttempt& next);

}  // namespace commands
