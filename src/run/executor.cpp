#include "run/executor.hpp"

#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace run {

namespace {

constexpr std::chrono::seconds program_margin{30};  // for a program, in addition to its step's timeout
constexpr std::chrono::seconds progress_interval{5};
constexpr std::chrono::seconds tick_interval{1};  // how often displays are updated
constexpr std::uint64_t slowest = 128u << 10;     // bytes per second: slower transfers are considered failed

}  // namespace

using report::Did;
using report::Event;

Outcome Executor::run() {
  std::size_t i = outcome_.next_stage;
  for (; i < plan_.stages.size() && continues() && !outcome_.interrupted; ++i) {
    const int before = outcome_.changed;
    walk_stage(plan_.stages[i]);
    if (plan_.stages[i].refresh && (outcome_.changed > before || came_back_) && continues()) {
      outcome_.refresh = true;
      ++i;
      break;
    }
  }
  outcome_.next_stage = i;
  return std::move(outcome_);
}

bool Executor::is_out(const std::string& host) const {
  return outcome_.lost.contains(host) || (outcome_.failed.contains(host) && !plan_.independent);
}

bool Executor::continues() const {
  return std::ranges::none_of(plan_.vital, [&](const std::string& host) { return is_out(host); }) &&
         !std::ranges::all_of(hosts_, [&](const std::string& host) { return is_out(host); });
}

void Executor::walk_stage(const plan::Stage& stage) {
  stage_ = &stage;
  if (stage.walks.empty()) return;
  Event begins = event("", "", Did::started, stage.title);
  const auto has_work = [](const plan::Stage& other) { return !other.walks.empty(); };
  const auto end = plan_.stages.begin() + (&stage - plan_.stages.data()) + 1;
  begins.phase = static_cast<std::size_t>(std::count_if(plan_.stages.begin(), end, has_work));
  begins.phases = static_cast<std::size_t>(std::ranges::count_if(plan_.stages, has_work));
  reporter_.on(begins);
  walkers_.clear();
  reports_.clear();
  count_wanted();
  for (const plan::Walk& walk : stage.walks)
    if (!is_out(walk.host)) walkers_[walk.host].walk = &walk;
  waiting_.clear();
  failed_here_ = false;
  came_back_ = false;
  for (const plan::Walk& walk : stage.walks)
    if (!is_out(walk.host)) waiting_.push_back(walk.host);
  admit();
  const KeepLocks keeps([this] { return hosts_with_locks(); }, fleet_, plan_.prelude, who_);
  auto progress = base::Clock::now() + progress_interval;
  while (fleet_.pending() > 0 || any_reboots()) {
    const auto second = base::Clock::now() + tick_interval;
    if (auto completion = fleet_.next_until(std::min({progress, second, next_reboot()})))
      completed(*completion);
    reporter_.tick(base::now());
    continue_reboots();
    if (base::Clock::now() >= progress) {
      report_progress();
      progress = base::Clock::now() + progress_interval;
    }
  }
  clear_depots();
  outcome_.interrupted = outcome_.interrupted || fleet_.interrupted();
}

void Executor::admit() {
  const auto inside = [&] {
    return std::ranges::count_if(walkers_, [](const auto& of) {
      return of.second.reboot || of.second.parked || of.second.doing != Walker::Doing::nothing;
    });
  };
  while (!waiting_.empty() && (stage_->at_once == 0 || inside() < stage_->at_once)) {
    const std::string host = waiting_.front();
    waiting_.pop_front();
    if (stage_->at_once != 0 && failed_here_ && !plan_.independent)
      skip_host(host);
    else
      advance(host);
  }
}

void Executor::skip_host(const std::string& host) {
  outcome_.failed.insert(host);
  reporter_.on(event(host, "", Did::note, "not started, because an earlier host failed"));
}

void Executor::leave(const std::string& host) {
  walkers_[host].doing = Walker::Doing::nothing;
  walkers_[host].reboot.reset();
  walkers_[host].parked = false;
  admit();
}

void Executor::advance(const std::string& host) {
  Walker& walker = walkers_[host];
  if (fleet_.interrupted()) return leave(host);
  if (has_received_all(walker)) return install_received(host);
  if (walker.next == walker.walk->actions.size()) return leave(host);
  walker.action = walker.walk->actions[walker.next];
  plan::Action& action = walker.action;
  for (const std::string& name : action.later) {
    const std::string& value = saved(host, name);
    if (auto content = action.variables.find("content"); content != action.variables.end())
      content->second = base::replace_all(content->second, "${" + name + "}", value);
    else
      action.variables[name] = value;
  }
  reporter_.on(event(host, action.id, Did::started, action.title));
  if (action.kind == plan::Kind::wait) {
    reporter_.on(
        event(host, action.id, Did::waiting,
              fmt::format("at most {}", base::human_seconds(static_cast<double>(action.timeout.count())))));
    walker.doing = Walker::Doing::step;
    walker.since = base::Clock::now();
    walker.memory = {};
    return submit_wait(host);
  }
  walker.doing = action.kind == plan::Kind::upload ? Walker::Doing::upload_check : Walker::Doing::step;
  walker.size = size_of(action);
  walker.from_depot = false;
  submit(host,
         action.kind != plan::Kind::upload ? step_program(action, plan_.prelude, who_)
         : walker.size > 0                 ? upload_check_program(action, plan_.prelude, plan_.depot, who_)
                                           : check_program(action, plan_.prelude, who_),
         action.kind == plan::Kind::upload ? transport::Effect::reads : transport::Effect::changes);
}

const std::string& Executor::saved(const std::string& host, const std::string& name) {
  const base::Variables& own = outcome_.saved[host];
  const auto found = own.find(name);
  return found != own.end() ? found->second : outcome_.saved[""][name];
}

void Executor::submit(const std::string& host, std::string script, transport::Effect effect) {
  const plan::Action& action = walkers_[host].action;
  transport::Command command;
  command.label = action.title;
  command.script = std::move(script);
  command.effect = effect;
  command.timeout = action.timeout + program_margin;
  const Walker& walker = walkers_[host];
  if (walker.doing == Walker::Doing::upload && !walker.from_depot) command.input = action.input;
  if (walker.doing == Walker::Doing::receive) {
    command.input = action.input;
    command.input_offset = walker.held.bytes;
  }
  if (walker.doing == Walker::Doing::receive || walker.doing == Walker::Doing::pull ||
      walker.doing == Walker::Doing::offer) {
    command.timeout += std::chrono::seconds(walker.size / slowest);
  }
  count_report(walker, 1);
  fleet_.submit(host, std::move(command));
}

void Executor::completed(transport::Completion& completion) {
  const std::string& host = completion.host;
  const auto found = walkers_.find(host);
  if (found == walkers_.end()) return;
  Walker& walker = found->second;
  count_report(walker, -1);
  if (walker.reboot) return rebooting(completion, walker);
  if (!completion.result) return lose_host(host, completion.result.error());
  if (walker.doing == Walker::Doing::together) return installed_received(host, *completion.result);
  const plan::Action& action = walker.action;
  const transport::Exit& exit = *completion.result;
  const bool shared = on_its_way(walker) || walker.doing == Walker::Doing::upload_check ||
                      walker.doing == Walker::Doing::offer;
  if (file_answered(host, exit)) return;
  const int status =
      walker.doing == Walker::Doing::upload_check ? exit.status == 0 ? satisfied : check_failed : exit.status;
  switch (status) {
    case satisfied:
      ++outcome_.satisfied;
      finish_step(host, exit, Did::satisfied);
      break;
    case changed:
      ++outcome_.changed;
      finish_step(host, exit, Did::applied);
      break;
    case not_yet:
      return still_waits(host, exit);
    case reboot_needed:
      needs_reboot(host, exit);
      break;
    case still_needed:
      failed(host, action, "the step was applied, but its check still fails: " + why(walker, exit), "",
             exit.seconds);
      return pass_over(host);
    case no_lock:
      outcome_.lost.insert(host);
      [[fallthrough]];
    default:
      failed(host, action, why(walker, exit), "", seconds_of(walker, exit));
      pass_over(host);
  }
  if (shared) wake_parked();
}

void Executor::lose_host(const std::string& host, const base::Error& error) {
  const Walker& walker = walkers_[host];
  if (on_its_way(walker)) distribution_.failed(host, digest_of(walker));
  outcome_.interrupted = outcome_.interrupted || error.fault == base::Fault::interrupted;
  outcome_.lost.insert(host);
  failed(host, walker.action, base::without_host(error.what, host),
         error.hint.empty() ? "run the same command again to continue" : error.hint, 0);
  leave(host);
  wake_parked();
}

void Executor::pass_over(const std::string& host) {
  if (is_out(host)) return leave(host);
  to_next(walkers_[host]);
  advance(host);
}

void Executor::to_next(Walker& walker) {
  ++walker.next;
  walker.rebooted = false;
}

void Executor::finish_step(const std::string& host, const transport::Exit& exit, Did did) {
  Walker& walker = walkers_[host];
  const std::string said(base::trim(exit.out));
  if (!walker.action.judge.empty() && judge_)
    if (const auto wrong = judge_(walker.action.judge, host, exit.out)) {
      failed(host, walker.action, wrong->what, wrong->hint, exit.seconds);
      return pass_over(host);
    }
  if (!walker.action.saves.empty()) outcome_.saved[host][walker.action.saves] = said;
  if (!walker.action.shares.empty()) outcome_.saved[""][walker.action.shares] = said;
  report_done(host, walker.action, exit, did, seconds_of(walker, exit));
  to_next(walker);
  advance(host);
}

void Executor::report_done(const std::string& host, const plan::Action& action, const transport::Exit& exit,
                           Did did, double seconds) {
  Event done = event(host, action.id, did, action.title);
  done.seconds = seconds;
  done.program = action.check + action.apply;
  if (did == Did::applied && !base::trim(exit.err).empty()) done.output = base::printable(exit.err, 65536);
  reporter_.on(done);
}

void Executor::failed(const std::string& host, const plan::Action& action, const std::string& what,
                      const std::string& hint, double seconds) {
  outcome_.failed.insert(host);
  failed_here_ = true;
  Event event = this->event(host, action.id, Did::failed, fmt::format("{}: {}", action.title, what));
  event.hint = hint;
  event.program = action.check + action.apply;
  event.seconds = seconds;
  reporter_.on(event);
}

std::vector<std::string> Executor::hosts_with_locks() const {
  std::vector<std::string> hosts;
  for (const std::string& host : hosts_) {
    const auto walker = walkers_.find(host);
    const bool reboots = walker != walkers_.end() && walker->second.reboot && walker->second.reboot->begun();
    if (!reboots && !outcome_.lost.contains(host)) hosts.push_back(host);
  }
  return hosts;
}

report::Event Executor::event(const std::string& host, const std::string& step, Did did,
                              const std::string& detail) const {
  Event made;
  made.host = host;
  made.stage = stage_->name;
  made.step = step;
  made.did = did;
  made.detail = detail;
  return made;
}

}  // namespace run
