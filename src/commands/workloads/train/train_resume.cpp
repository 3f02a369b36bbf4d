#include "commands/workloads/storage/claim_folders.hpp"
#include "commands/workloads/train/train_attempt.hpp"
#include "commands/workloads/train/train_attend.hpp"
#include "commands/workloads/train/train_line.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;
using workload::TrainState;

/// Starts a job that has ended again, with the same objects, for its next attempt.
Result<Outcome> train_resume(const TrainOptions& options, Io& io) {
  const std::string ns = options.ns.empty() ? "default" : options.ns;
  const auto opened = TRY(open_train_session(options.common, options.hosts, session::Access::full, io));
  session::ClusterClient& client = *opened->client;
  const TrainState state = TRY(read_train_state(client, ns, options.name));
  if (!state.has_ended())
    return base::fail(Fault::usage,
                      fmt::format("train/{} has not ended ({})", state.name, name_of(state.phase)),
                      fmt::format("gpuadm train stop {} -n {} --keep", state.name, ns));
  const NextAttempt next = TRY(read_next_attempt(client, state));
  std::vector<std::string> claims;
  for (const base::Tree& job : next.jobs)
    if (const base::Tree* pod = job.at({"spec", "template", "spec"}))
      for (std::string& name : claims_of_pod(*pod)) claims.push_back(std::move(name));
  TRY(check_claims_of_pod(claims, ns, options.hosts, opened->cluster, client, io));
  TRY(replace_jobs(*opened, state, next));
  io.err(fmt::format("train/{}: attempt {}\n", state.name, next.number));
  const auto end_again = [&](base::Error error) { return end_attempt(client, state, std::move(error)); };
  return attend(*opened, {ns, state.name, {std::chrono::seconds(options.wait)}, options.detach, end_again},
                io);
}

}  // namespace

Command train_resume_command() {
  return CommandRow<TrainOptions>{
      .name = "train resume",
      .group = Group::workloads,
      .summary = "Start a training job that has ended again, from its checkpoints",
      .options =
          [](Line& line, TrainOptions& options) {
            add_existing_job(line, options);
            line.value("--wait", options.wait, "SECONDS",
                       "Time limit until all ranks run; otherwise none does (default 300)")
                .range(1, 86'400);
            add_detach(line, options.detach);
          },
      .examples = {{"gpuadm train resume mnist -f cluster.yaml", "from its checkpoints"}},
      .run = train_resume};
}

}  // namespace commands
