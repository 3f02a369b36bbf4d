#include "gpuadm/base/text.hpp"

#include "run/executor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace run {

namespace {

constexpr std::chrono::seconds wait_round{5};  // how often a wait is reported

}  // namespace

using report::Did;
using report::Event;

void Executor::submit_wait(const std::string& host) {
  const Walker& walker = walkers_[host];
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(base::Clock::now() - walker.since);
  const std::chrono::seconds left = std::max(std::chrono::seconds(1), walker.action.timeout - waited);
  submit(host,
         wait_program(walker.action, plan_.prelude, who_,
                      {std::min(wait_round, left), left <= wait_round, waited}),
         transport::Effect::changes);
}

void Executor::still_waits(const std::string& host, const transport::Exit& exit) {
  Walker& walker = walkers_[host];
  const kube::WaitOutput output = output_of(exit, walker.memory);
  if (!output.hopeless.empty()) {
    failed(host, walker.action,
           fmt::format("cannot succeed, stopped after {}: {}", base::human_seconds(seconds_of(walker, exit)),
                       output.hopeless),
           "", seconds_of(walker, exit));
    return pass_over(host);
  }
  Event seen =
      event(host, walker.action.id, Did::waiting, base::replace_all(base::tail(output.text, 3), "\n", "; "));
  seen.seconds = seconds_of(walker, exit);
  reporter_.on(seen);
  if (fleet_.interrupted()) return leave(host);
  submit_wait(host);
}

double Executor::seconds_of(const Walker& walker, const transport::Exit& exit) {
  if (walker.action.kind != plan::Kind::wait) return exit.seconds;
  return std::chrono::duration<double>(base::Clock::now() - walker.since).count();
}

kube::WaitOutput Executor::output_of(const transport::Exit& exit, kube::WaitMemory& memory) {
  return kube::read_unready(without_shell_noise(exit.err), kube::cluster_wait, memory, base::Clock::now());
}

std::string Executor::why(const Walker& walker, const transport::Exit& exit) {
  kube::WaitMemory memory = walker.memory;
  std::string said = base::tail(
      walker.action.kind == plan::Kind::wait ? output_of(exit, memory).text : without_shell_noise(exit.err),
      12);
  if (said.empty()) said = fmt::format("exit status {}, no output", exit.status);
  if (walker.action.kind != plan::Kind::wait || walker.doing != Walker::Doing::step) return said;
  const std::string time = base::human_seconds(seconds_of(walker, exit));
  if (exit.status == hopeless) return fmt::format("cannot succeed, stopped after {}: {}", time, said);
  return exit.status == apply_failed ? fmt::format("timed out after {}: {}", time, said) : said;
}

}  // namespace run
