#include "commands/workloads/train/train_attend.hpp"

#include "gpuadm/base/text.hpp"

#include "commands/workloads/train/train_follow.hpp"

#include <fmt/format.h>

namespace commands {

using base::Fault;

Result<Outcome> attend(TrainSession& opened, const Attendance& how, Io& io) {
  const auto& [ns, name, wait, detach, withdraw] = how;
  TrainFollow follow(opened, ns, name, io);
  const auto started = follow.wait_for_start(wait);
  if (!started) return std::unexpected(withdraw(started.error()));
  const bool quiet = io.err_style.verbosity == report::Verbosity::quiet;
  if (!quiet && !started->has_ended())
    for (const workload::RankState& one : started->states)
      io.err(fmt::format("rank {} runs on {}\n", one.rank, base::printable(one.node, 80)));
  if (detach && !started->has_ended()) {
    io.out(fmt::format("train/{} runs; gpuadm train logs {} -n {} --follow\n", name, name, ns));
    return Outcome::done;
  }
  const auto ended = follow.follow();
  if (ended) return report_end(*ended, opened, io);
  if (ended.error().fault != Fault::usage)
    io.err(fmt::format(
        "train/{0} keeps running; gpuadm train logs {0} -n {1} --follow, or gpuadm train stop {0} -n {1}\n",
        name, ns));
  return std::unexpected(ended.error());
}

}  // namespace commands
