#include "gpuadm/base/text.hpp"

#include "run/executor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace run {

using report::Did;

void Executor::needs_reboot(const std::string& host, const transport::Exit& exit) {
  Walker& walker = walkers_[host];
  const std::string reason = base::tail(exit.err, 1);
  if (walker.rebooted) {
    failed(host, walker.action, "the host was rebooted but still requires a reboot: " + reason, "",
           exit.seconds);
    return pass_over(host);
  }
  if (reboots_ == Reboots::left) {
    failed(host, walker.action, "the host must be rebooted: " + reason,
           fmt::format("run systemctl reboot on {}, then the same command again to continue",
                       base::printable(host)),
           exit.seconds);
    return pass_over(host);
  }
  walker.doing = Walker::Doing::nothing;
  walker.reboot.emplace(walker.action.id);
  reporter_.on(event(host, walker.action.id, Did::note, "rebooting the host: " + reason));
  continue_reboots();
}

bool Executor::any_reboots() const {
  return std::ranges::any_of(walkers_, [](const auto& of) { return of.second.reboot.has_value(); });
}

base::Instant Executor::next_reboot() const {
  base::Instant next = base::Instant::max();
  for (const auto& [host, walker] : walkers_)
    if (walker.reboot && walker.reboot->begun() && walker.doing == Walker::Doing::nothing)
      next = std::min(next, walker.reboot->wake());
  return next;
}

bool Executor::may_go(const std::string& host) const {
  return !plan_.vital.contains(host) || std::ranges::none_of(walkers_, [&](const auto& of) {
    return of.first != host && plan_.vital.contains(of.first) && of.second.reboot &&
           of.second.reboot->begun();
  });
}

void Executor::continue_reboots() {
  for (auto& [host, walker] : walkers_) {
    if (!walker.reboot || walker.doing != Walker::Doing::nothing) continue;
    if (fleet_.interrupted()) {
      outcome_.interrupted = true;
      give_up(host, base::Error{base::Fault::interrupted, "interrupted while the host was rebooted",
                                "when it is up, run the same command again to continue"});
      continue;
    }
    if (!walker.reboot->begun() && !may_go(host)) continue;
    if (!walker.reboot->begun())
      reporter_.on(event(host, walker.action.id, Did::waiting,
                         fmt::format("the host to reboot (at most {}s)", reboot_timeout.count())));
    auto command = walker.reboot->next(plan_.prelude, who_, base::Clock::now());
    if (!command) continue;
    walker.doing = Walker::Doing::reboot;
    fleet_.submit(host, std::move(*command));
  }
}

void Executor::rebooting(const transport::Completion& completion, Walker& walker) {
  const std::string& host = completion.host;
  walker.doing = Walker::Doing::nothing;
  if (completion.result && completion.result->status == own_host_resumes) outcome_.own_host = host;
  const auto back = walker.reboot->heard(completion, base::Clock::now());
  if (!back) return give_up(host, back.error());
  if (!*back) return;
  reporter_.on(event(host, walker.action.id, Did::note, "the host has rebooted"));
  walker.reboot.reset();
  walker.rebooted = true;
  came_back_ = true;
  advance(host);
}

void Executor::give_up(const std::string& host, const base::Error& error) {
  Walker& walker = walkers_[host];
  outcome_.interrupted = outcome_.interrupted || error.fault == base::Fault::interrupted;
  if (error.fault != base::Fault::blocked) outcome_.lost.insert(host);
  failed(host, walker.action, error.what, error.hint, 0);
  walker.reboot.reset();
  pass_over(host);
}

}  // namespace run
