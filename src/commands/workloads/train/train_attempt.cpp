#include "commands/workloads/train/train_attempt.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace commands {

using workload::TrainState;

Result<NextAttempt> read_next_attempt(session::ClusterClient& client, const TrainState& state) {
  NextAttempt next;
  const std::string selector = workload::selector_of(workload::train_kind, state.name);
  for (const base::Tree& job : TRY(client.get({{"jobs.batch"}, state.ns, selector}))) {
    next.number = workload::attempt_of(job) + 1;
    next.left = workload::restarts_left(job);
    next.jobs.push_back(TRY(workload::repeated(job, next.number)));
  }
  return next;
}

base::Error end_attempt(session::ClusterClient& client, const TrainState& state, base::Error error) {
  if (const auto ended = end_ranks(client, state); !ended)
    error.what += "; its ranks could not be ended: " + ended.error().what;
  error.hint =
      fmt::format("gpuadm train resume {0} -n {1}, or gpuadm train stop {0} -n {1}", state.name, state.ns);
  return error;
}

Result<> replace_jobs(TrainSession& opened, const TrainState& state, const NextAttempt& next) {
  session::ClusterClient& client = *opened.client;
  const auto file =
      base::state_directory() / opened.cluster.name / fmt::format("train-{}.{}.json", state.ns, state.name);
  TRY(base::write_file(file, session::list_of(next.jobs) + "\n"));
  const auto replaced = [&]() -> Result<> {
    TRY(client.remove(state.ns, {"jobs.batch", "pods"},
                      workload::selector_of(workload::train_kind, state.name)));
    TRY(client.create(state.ns, next.jobs, transport::Purpose::clean_up));
    return {};
  }();
  std::error_code ignored;
  if (replaced) std::filesystem::remove(file, ignored);
  if (replaced) return {};
  base::Error error = replaced.error();
  error.what += fmt::format("; the Jobs of the next attempt are in {}", file.string());
  error.hint = fmt::format("gpuadm train resume {} -n {}; if its Jobs are gone: kubectl create -f {}",
                           state.name, state.ns, file.string());
  return std::unexpected(std::move(error));
}

}  // namespace commands
