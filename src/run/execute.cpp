#include "gpuadm/base/text.hpp"
#include "gpuadm/run/run.hpp"

#include "run/preview.hpp"
#include "run/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace run {

namespace {

using report::Did;
using report::Event;

constexpr std::chrono::seconds beat_interval{20};   // a lock counts as dead after 90 s (playbooks/prelude.sh)
constexpr std::chrono::seconds program_margin{30};  // what a program may take beyond its step's own timeout

/// One host on its way through a stage.
struct Walker {
  const plan::Walk* walk = nullptr;
  std::size_t next = 0;
  enum class Doing { nothing, step, upload_check, upload, beat } doing = Doing::nothing;
  plan::Action action;  ///< with the saved variables filled in
};

class Executor {
 public:
  Executor(const plan::Plan& plan, transport::Fleet& fleet, report::Reporter& reporter, const Identity& who,
           Outcome so_far)
      : plan_(plan), fleet_(fleet), reporter_(reporter), who_(who), outcome_(std::move(so_far)) {
    outcome_.refresh = false;
    for (const plan::Stage& stage : plan.stages)
      for (const plan::Walk& walk : stage.walks) hosts_.insert(walk.host);
  }

  Outcome run() {
    std::size_t i = outcome_.next_stage;
    for (; i < plan_.stages.size() && goes_on() && !outcome_.interrupted; ++i) {
      const int before = outcome_.changed;
      walk_stage(plan_.stages[i]);
      if (plan_.stages[i].refresh && outcome_.changed > before && goes_on()) {
        outcome_.refresh = true;
        ++i;
        break;
      }
    }
    outcome_.next_stage = i;
    return std::move(outcome_);
  }

 private:
  /// A host that failed takes no further step, but for one where steps do not build on each other.
  [[nodiscard]] bool is_out(const std::string& host) const {
    return outcome_.lost.contains(host) || (outcome_.failed.contains(host) && !plan_.independent);
  }

  [[nodiscard]] bool goes_on() const {
    return std::ranges::none_of(plan_.vital, [&](const std::string& host) { return is_out(host); }) &&
           !std::ranges::all_of(hosts_, [&](const std::string& host) { return is_out(host); });
  }

  void walk_stage(const plan::Stage& stage) {
    stage_ = &stage;
    if (stage.walks.empty()) return;
    reporter_.on(event("", "", Did::started, stage.title));
    walkers_.clear();
    for (const plan::Walk& walk : stage.walks)
      if (!is_out(walk.host)) walkers_[walk.host].walk = &walk;
    waiting_.clear();
    failed_here_ = false;
    for (const plan::Walk& walk : stage.walks)
      if (!is_out(walk.host)) waiting_.push_back(walk.host);
    admit();
    auto beat = base::Clock::now() + beat_interval;
    while (fleet_.pending() > 0) {
      if (auto completion = fleet_.next_until(beat)) completed(*completion);
      if (base::Clock::now() >= beat) {
        beat_idle_hosts();
        beat = base::Clock::now() + beat_interval;
      }
    }
    outcome_.interrupted = outcome_.interrupted || fleet_.interrupted();
  }

  /// Lets hosts into the stage: all, or as many as may be in it at once. None where one that went before has
  /// failed: what is done to one host after the other is not done to the rest of them then.
  void admit() {
    const auto inside = [&] {
      return std::ranges::count_if(walkers_, [](const auto& of) {
        return of.second.doing != Walker::Doing::nothing && of.second.doing != Walker::Doing::beat;
      });
    };
    while (!waiting_.empty() && (stage_->at_once == 0 || inside() < stage_->at_once)) {
      const std::string host = waiting_.front();
      if (walkers_[host].doing == Walker::Doing::beat) return;  // its end calls again
      waiting_.pop_front();
      if (stage_->at_once != 0 && failed_here_ && !plan_.independent)
        pass_by(host);
      else
        advance(host);
    }
  }

  void pass_by(const std::string& host) {
    outcome_.failed.insert(host);
    reporter_.on(event(host, "", Did::note, "not begun, because a host before it failed"));
  }

  /// The host is through, or out.
  void leave(const std::string& host) {
    walkers_[host].doing = Walker::Doing::nothing;
    admit();
  }

  /// Starts the host's next step, if there is one.
  void advance(const std::string& host) {
    Walker& walker = walkers_[host];
    if (walker.next == walker.walk->actions.size() || fleet_.interrupted()) return leave(host);
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
    if (action.kind == plan::Kind::wait) reporter_.on(event(host, action.id, Did::waiting, action.title));
    walker.doing = action.kind == plan::Kind::upload ? Walker::Doing::upload_check : Walker::Doing::step;
    submit(host,
           action.kind == plan::Kind::upload ? check_program(action, plan_.prelude, who_)
                                             : step_program(action, plan_.prelude, who_),
           action.kind == plan::Kind::upload ? transport::Effect::reads : transport::Effect::changes);
  }

  /// What the host's own steps have saved, else what another's have shared.
  [[nodiscard]] const std::string& saved(const std::string& host, const std::string& name) {
    const base::Variables& own = outcome_.saved[host];
    const auto found = own.find(name);
    return found != own.end() ? found->second : outcome_.saved[""][name];
  }

  void submit(const std::string& host, std::string script, transport::Effect effect) {
    const plan::Action& action = walkers_[host].action;
    transport::Command command;
    command.label = action.title;
    command.script = std::move(script);
    command.effect = effect;
    command.timeout = action.timeout + program_margin;
    if (walkers_[host].doing == Walker::Doing::upload) command.input = action.input;
    fleet_.submit(host, std::move(command));
  }

  void completed(transport::Completion& completion) {
    const std::string& host = completion.host;
    const auto found = walkers_.find(host);
    if (found == walkers_.end()) return;
    Walker& walker = found->second;
    if (walker.doing == Walker::Doing::beat) {
      walker.doing = Walker::Doing::nothing;
      return admit();
    }
    const plan::Action& action = walker.action;
    if (!completion.result) {
      const base::Error& error = completion.result.error();
      outcome_.interrupted = outcome_.interrupted || error.fault == base::Fault::interrupted;
      outcome_.lost.insert(host);
      failed(
          host, action, error.what,
          error.hint.empty() ? "run the same command again: it goes on where this one stopped" : error.hint,
          0);
      return leave(host);
    }
    const transport::Exit& exit = *completion.result;
    if (walker.doing == Walker::Doing::upload_check && exit.status == 1) {
      walker.doing = Walker::Doing::upload;
      return submit(host, upload_program(action, plan_.prelude, who_), transport::Effect::changes);
    }
    const int status = walker.doing == Walker::Doing::upload_check
                           ? exit.status == 0 ? satisfied : check_failed
                           : exit.status;
    switch (status) {
      case satisfied:
        ++outcome_.satisfied;
        finish_step(host, exit, Did::satisfied);
        break;
      case changed:
        ++outcome_.changed;
        finish_step(host, exit, Did::applied);
        break;
      case still_needed:
        failed(host, action, "it was done, and is not so: " + why(exit), "", exit.seconds);
        return pass_over(host);
      case no_lock:
        outcome_.lost.insert(host);
        [[fallthrough]];
      default:
        failed(host, action, why(exit), "", exit.seconds);
        pass_over(host);
    }
  }

  /// A step that failed keeps none of the others from running, where they do not build on each other.
  void pass_over(const std::string& host) {
    if (is_out(host)) return leave(host);
    ++walkers_[host].next;
    advance(host);
  }

  void finish_step(const std::string& host, const transport::Exit& exit, Did did) {
    Walker& walker = walkers_[host];
    const std::string said(base::trim(exit.out));
    if (!walker.action.saves.empty()) outcome_.saved[host][walker.action.saves] = said;
    if (!walker.action.shares.empty()) outcome_.saved[""][walker.action.shares] = said;
    Event done = event(host, walker.action.id, did, walker.action.title);
    done.seconds = exit.seconds;
    if (did == Did::applied && !base::trim(exit.err).empty()) done.output = base::printable(exit.err, 65536);
    reporter_.on(done);
    ++walker.next;
    advance(host);
  }

  static std::string why(const transport::Exit& exit) {
    const std::string said = base::tail(exit.err, 12);
    return said.empty() ? fmt::format("exit status {}, without a word", exit.status) : said;
  }

  void failed(const std::string& host, const plan::Action& action, const std::string& what,
              const std::string& hint, double seconds) {
    outcome_.failed.insert(host);
    failed_here_ = true;
    Event event = this->event(host, action.id, Did::failed, fmt::format("{}: {}", action.title, what));
    event.hint = hint;
    event.seconds = seconds;
    reporter_.on(event);
  }

  void beat_idle_hosts() {
    for (const std::string& host : hosts_) {
      Walker& walker = walkers_[host];
      if (walker.doing != Walker::Doing::nothing || outcome_.lost.contains(host)) continue;
      walker.doing = Walker::Doing::beat;
      transport::Command command;
      command.label = "keep the lock";
      command.script = head(plan_.prelude, who_, "beat", beat_interval) + "lock_enter\nlock_leave\n";
      command.effect = transport::Effect::changes;
      fleet_.submit(host, std::move(command));
    }
  }

  [[nodiscard]] Event event(const std::string& host, const std::string& step, Did did,
                            const std::string& detail) const {
    Event made;
    made.host = host;
    made.stage = stage_->name;
    made.step = step;
    made.did = did;
    made.detail = detail;
    return made;
  }

  const plan::Plan& plan_;
  transport::Fleet& fleet_;
  report::Reporter& reporter_;
  const Identity& who_;
  const plan::Stage* stage_ = nullptr;
  std::map<std::string, Walker> walkers_;
  std::deque<std::string> waiting_;  ///< hosts that the stage has not let in yet
  bool failed_here_ = false;         ///< in this stage
  std::set<std::string> hosts_;
  Outcome outcome_;
};

}  // namespace

Outcome execute(const plan::Plan& plan, transport::Fleet& fleet, report::Reporter& reporter, Mode mode,
                const Identity& who, Outcome so_far) {
  if (mode == Mode::preview) return preview(plan, fleet, reporter, who);
  return Executor(plan, fleet, reporter, who, std::move(so_far)).run();
}

}  // namespace run
