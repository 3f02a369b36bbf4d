#include "commands/workloads/train/train_wait.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/spec/values.hpp"
#include "gpuadm/workload/train_check.hpp"

#include "commands/workloads/read_failures.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

constexpr std::chrono::seconds between_views{10};
constexpr const char* gpus_free = "train.gpus-free";

/// The GPUs that nothing but their holders keep the job from; empty: something else does, or nothing.
std::string awaited_gpus(const TrainView& view, const workload::TrainJob& job,
                         std::vector<std::string> ignored) {
  const std::string held = workload::held_gpus(job, view.supply);
  if (held.empty() || std::ranges::find(ignored, gpus_free) != ignored.end()) return "";
  ignored.emplace_back(gpus_free);
  std::vector<report::Finding> findings = view.findings;
  return are_blocked(findings, ignored) ? "" : held;
}

}  // namespace

bool are_blocked(std::vector<report::Finding>& findings, const std::vector<std::string>& ignored) {
  for (report::Finding& finding : findings)
    if (std::ranges::find(ignored, finding.id.text()) != ignored.end())
      finding.severity = std::min(finding.severity, report::Severity::warning);
  return std::ranges::any_of(findings, report::blocks);
}

Result<TrainWait> read_train_wait(const std::string& text) {
  TrainWait wait;
  if (text.empty()) return wait;
  const bool is_number = text.find_first_not_of("0123456789") == std::string::npos;
  wait.start = std::chrono::seconds(TRY(spec::seconds_in("--wait", is_number ? text + "s" : text)));
  wait.gpus_until = base::Clock::now() + wait.start;
  return wait;
}

Result<TrainView> view_when_gpus_are_free(session::ClusterClient& client, const workload::TrainJob& job,
                                          const std::vector<base::Tree>& created,
                                          const std::vector<std::string>& ignored, const TrainWait& wait,
                                          Io& io) {
  ReadFailures failures(io);
  std::string shown;
  while (true) {
    auto view = view_for(client, job, created);
    if (wait.is_over()) return view;
    if (view) {
      failures.reset();
      const std::string awaited = awaited_gpus(*view, job, ignored);
      if (awaited.empty()) return view;
      if (awaited != shown && io.err_style.verbosity != report::Verbosity::quiet)
        io.err(fmt::format("train/{} waits for GPUs (at most {}): {}\n", job.name,
                           base::human_seconds(static_cast<double>(wait.start.count())),
                           base::printable(awaited, 600)));
      shown = awaited;
    } else {
      TRY(failures.tolerate(view.error()));
    }
    (void)client.fleet().next_until(base::Clock::now() + between_views);
    if (client.fleet().interrupted()) return base::fail(base::Fault::interrupted, "interrupted");
  }
}

}  // namespace commands
