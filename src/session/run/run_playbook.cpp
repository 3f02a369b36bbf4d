#include "gpuadm/session/run_playbook.hpp"

#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/checks/checks.hpp"
#include "gpuadm/report/fold.hpp"
#include "gpuadm/run/run.hpp"
#include "gpuadm/session/connections.hpp"

#include "session/run/reason.hpp"
#include "session/run/resume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace session {

namespace {

using report::Did;

constexpr const char* network_test = "verify/network";  // a phase
constexpr const char* question = "Continue? (-y: do not ask; --diff: show all changes)";

/// Forwards all events and records the needed steps.
class Needed final : public report::Reporter {
 public:
  explicit Needed(report::Reporter& next) : next_(next) {}
  void on(const report::Event& event) override {
    if (event.did == Did::needed) {
      diffs_.emplace(key(event.host, event.step), event.diff);
      phases_.insert(event.stage);
    }
    next_.on(event);
  }
  void tick(base::Time now) override { next_.tick(now); }
  /// The phases that have a needed step.
  [[nodiscard]] const std::set<std::string>& phases() const { return phases_; }
  [[nodiscard]] bool has(const std::string& host, const std::string& step) const {
    return diffs_.contains(key(host, step));
  }
  /// Whether a needed step replaces a file that exists.
  [[nodiscard]] bool replaces(const std::string& host, const std::string& step) const {
    const auto diff = diffs_.find(key(host, step));
    return diff != diffs_.end() && !diff->second.empty() && !diff->second.starts_with("--- /dev/null");
  }

 private:
  static std::string key(const std::string& host, const std::string& step) { return host + "\n" + step; }
  report::Reporter& next_;
  std::map<std::string, std::string> diffs_;  ///< of the needed steps
  std::set<std::string> phases_;
};

/// "cp1, gpu1 and 510 more"
std::string listed(const std::set<std::string>& names) {
  constexpr std::size_t most = 6;
  std::vector<std::string> shown(names.begin(), names.end());
  shown.resize(std::min(most, shown.size()));
  const std::string text = base::join(shown, ", ");
  return names.size() > most ? fmt::format("{} and {} more", text, names.size() - most) : text;
}

/// What the needed steps do, in addition to the files that they write.
NeededEffects effects_of(const plan::Plan& plan, const Needed& needed) {
  NeededEffects all{.phases = needed.phases(), .hosts = {}, .packages = {}, .restarts = {}, .reboots = {}};
  for (const plan::Stage& stage : plan.stages)
    for (const plan::Walk& walk : stage.walks)
      for (const plan::Action& action : walk.actions) {
        if (!needed.has(walk.host, action.id)) continue;
        all.hosts.insert(walk.host);
        all.packages.insert(action.effects.packages.begin(), action.effects.packages.end());
        all.restarts.insert(action.effects.restarts.begin(), action.effects.restarts.end());
        if (action.effects.reboot)
          all.reboots.insert(fmt::format("{} ({})", base::printable(walk.host), action.title));
      }
  return all;
}

/// "12 steps are needed on 1 host; packages: containerd; restarts: containerd.service".
std::string summary(const NeededEffects& needed, int count) {
  std::string text =
      fmt::format("{} step{} needed on {}", count, count == 1 ? " is" : "s are", listed(needed.hosts));
  if (!needed.packages.empty()) text += "; installs packages: " + listed(needed.packages);
  if (!needed.restarts.empty()) text += "; restarts: " + listed(needed.restarts);
  if (!needed.reboots.empty()) text += "; reboots if required: " + listed(needed.reboots);
  return text;
}

/// What the needed steps do, and what that means for the operator.
void notify_effects(const Execution& execution, const NeededEffects& effects, int count,
                    report::Reporter& reporter) {
  notify(reporter, Did::note, summary(effects, count));
  const std::string text = execution.consequence ? execution.consequence(effects) : std::string();
  if (!text.empty()) notify(reporter, Did::note, text);
}

/// One line each, and the number of omitted ones.
std::string shown(const std::vector<std::string>& lines) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, lines.size()); ++i)
    text += "\n  " + base::printable(lines[i], 200);
  if (lines.size() > most) text += fmt::format("\n  and {} more", lines.size() - most);
  return text;
}

/// What the plan changes in the pod network of a cluster that runs already. gpuadm completes its own network
/// after an interruption without asking: only what exists is replaced.
std::vector<std::string> network_changes(const plan::Plan& plan, const RunningCluster& running,
                                         const Needed& needed) {
  std::vector<std::string> changes;
  if (running.name.empty()) return changes;
  for (const plan::Stage& stage : plan.stages)
    for (const plan::Walk& walk : stage.walks)
      for (const plan::Action& action : walk.actions)
        if (action.effects.network && needed.has(walk.host, action.id) &&
            (!running.by_gpuadm || needed.replaces(walk.host, action.id)))
          changes.push_back(fmt::format("{}: {}", walk.host, action.title));
  return changes;
}

/// Confirms a change of the pod network of a running cluster. False: declined.
Result<bool> confirm_network(const Execution& execution, const std::vector<std::string>& changes, Io& io) {
  if (changes.empty() || execution.running.network == Consent::given) return true;
  const std::string what =
      fmt::format("the pod network of the running cluster {}", base::printable(execution.running.name, 100));
  const std::optional<bool> yes =
      execution.consent == Consent::ask && io.confirm
          ? io.confirm(fmt::format("This changes {}, and pods may lose connections:{}\nChange it?", what,
                                   shown(changes)))
          : std::nullopt;
  if (yes) return *yes;
  return base::fail(
      base::Fault::blocked,
      fmt::format("this would change {}, and pods may lose connections:{}", what, shown(changes)),
      "add --change-network to confirm it; --dry-run --diff shows it; -y alone does not");
}

Outcome outcome_of(const run::Outcome& outcome) {
  if (outcome.interrupted) return Outcome::interrupted;
  return outcome.failed.empty() ? Outcome::done : Outcome::failed;
}

/// Renders the plan from current facts, and meanwhile renews the locks of the hosts that are not lost.
Result<plan::Plan> render(const Execution& execution, const RunContext& session, const run::Identity& who,
                          Unread& unread) {
  std::vector<std::string> hosts = execution.hosts;
  std::erase_if(hosts, [&](const std::string& host) { return unread.lost.contains(host); });
  const run::KeepLocks keeps([hosts] { return hosts; }, *session.fleet, execution.plan.prelude, who);
  return execution.again(unread);
}

/// The plan from current facts, now that the hosts are locked: another run may have changed them since the
/// preview. A different plan must be confirmed again.
Result<plan::Plan> plan_again(const Execution& execution, const RunContext& session,
                              report::Reporter& reporter, const run::Identity& who) {
  if (!execution.again) return execution.plan;
  Unread unread;
  plan::Plan plan = TRY(render(execution, session, who, unread));
  if (!unread.now.empty()) return std::unexpected(base::joined(unread.now));
  const std::vector<std::string> more = plan::additions(execution.plan, plan);
  if (more.empty()) return plan;
  if (execution.consent == Consent::ask)
    return base::fail(
        base::Fault::blocked,
        "the hosts have changed since the plan was shown; nothing was changed. Now also needed:" +
            shown(more),
        "run the same command again to see the new plan");
  notify(reporter, Did::note, "the hosts have changed since the preview: this is the new plan");
  TRY(session.folder.save_text("plan.json", plan::to_json(plan)));
  Needed needed(reporter);
  const run::Outcome preview = run::execute(plan, *session.fleet, needed, run::Mode::preview, who);
  if (preview.interrupted) return base::fail(base::Fault::interrupted, "interrupted during the preview");
  Io nobody;  // consent was given in advance
  TRY(confirm_network(execution, network_changes(plan, execution.running, needed), nobody));
  return plan;
}

/// The plan from current facts after a stage that requests them. A host that cannot be read any more is lost;
/// the others continue.
Result<plan::Plan> plan_refreshed(const Execution& execution, const RunContext& session,
                                  report::Reporter& reporter, const run::Identity& who,
                                  run::Outcome& outcome) {
  Unread unread{outcome.lost, {}};
  plan::Plan plan = TRY(render(execution, session, who, unread));
  for (const auto& [host, error] : unread.now) {
    outcome.lost.insert(host);
    outcome.failed.insert(host);
    reporter.on({base::now(), host, "facts", "facts", Did::failed, error.what, error.hint, "", "", 0});
  }
  return plan;
}

/// Executes the stages, with the plan rendered again when a stage requests it. `own_host`: see run::Outcome.
Result<Outcome> apply(const Execution& execution, const RunContext& session, report::Reporter& reporter,
                      const run::Identity& who, std::string& own_host) {
  plan::Plan plan = TRY(plan_again(execution, session, reporter, who));
  run::Outcome outcome;
  while (true) {
    outcome = run::execute(plan, *session.fleet, reporter, run::Mode::apply, who, std::move(outcome),
                           execution.reboots == Rebooting::done ? run::Reboots::done : run::Reboots::left,
                           execution.judge);
    own_host = outcome.own_host;
    if (!outcome.refresh) return outcome_of(outcome);
    plan = TRY(plan_refreshed(execution, session, reporter, who, outcome));
  }
}

/// A skipped phase as a skipped step, so that the report counts it.
void report_skipped(const PlaybookRun& playbook_run, const std::string& phase, const char* why,
                    report::Reporter& reporter) {
  report::Event event;
  event.host = playbook_run.cluster.hosts.front().name;
  event.stage = event.step = phase;
  event.did = Did::skipped;
  event.detail = why;
  reporter.on(event);
}

/// Steps are selected by facts. A fact that could not be read must not be treated as absent.
std::optional<base::Error> why_unread(const std::string& host, const Result<facts::Facts>& facts) {
  if (!facts) return facts.error();
  const auto why = checks::unread_for_plan(*facts);
  if (!why) return std::nullopt;
  return base::Error{base::Fault::blocked, fmt::format("{}: cannot plan: {}", host, *why),
                     "run the same command again; `gpuadm facts` shows the facts"};
}

/// Of a host that was not reached, nothing is required.
Result<> require_facts(const facts::Census& census) {
  for (const auto& [host, facts] : census)
    if (const auto why = facts ? why_unread(host, facts) : std::nullopt) return std::unexpected(*why);
  return {};
}

/// A note about skipped waits and tests.
void report_not_waited(const PlaybookRun& playbook_run, report::Reporter& reporter) {
  if (playbook_run.waiting == Waiting::until_it_works) {
    const auto& phases = playbook_run.library.playbook().phases;
    const bool has_test = std::ranges::find(phases, network_test, &playbook::Phase::name) != phases.end();
    if (has_test && plan::is_chosen(network_test, playbook_run.choice) &&
        playbook_run.cluster.runtime.engine == spec::Engine::crio)
      report_skipped(playbook_run, network_test, "gpuadm imports no images into CRI-O", reporter);
    return;
  }
  notify(reporter, Did::note,
         "--no-wait: cluster readiness and network were not tested; to test: gpuadm verify");
  for (const std::string& phase : waiting_phases(playbook_run.library.playbook()))
    report_skipped(playbook_run, phase, "--no-wait", reporter);
}

}  // namespace

std::vector<std::string> waiting_phases(const playbook::Playbook& playbook) {
  std::vector<std::string> names;
  for (const playbook::Phase& phase : playbook.phases)
    if (phase.name.starts_with("verify/") || phase.name == "gpu/offered") names.push_back(phase.name);
  return names;
}

void notify(report::Reporter& reporter, Did did, const std::string& text) {
  report::Event event;
  event.did = did;
  event.detail = text;
  reporter.on(event);
}

Result<RunContext> RunContext::open(const spec::Cluster& cluster, const Connection& connection,
                                    Consent consent, Io& io) {
  RunContext session{TRY(RunFolder::make(cluster.name)), {}, {}};
  TRY(session.folder.save("cluster.yaml", spec::to_tree(cluster)));
  session.connections = TRY(Connections::open(cluster, connection, io));
  session.fleet = session.connections->fleet(consent == Consent::preview ? Access::read_only : Access::full);
  return session;
}

Result<Survey> RunContext::survey_all(const assets::Store& assets,
                                      const std::function<bool(const std::string&)>& needed) const {
  Survey survey = TRY(take_census(*fleet, assets));
  TRY(folder.save("facts.json", to_tree(survey.census)));
  TRY(all_read(survey.census, needed));
  return survey;
}

Result<Outcome> run_playbook(const PlaybookRun& playbook_run, const Survey& survey, const RunContext& session,
                             report::Reporter& reporter, Io& io) {
  for (const std::string& note : playbook_run.notes) notify(reporter, Did::note, note);
  const auto plan_of = [&playbook_run](const facts::Census& census) -> Result<plan::Plan> {
    TRY(require_facts(census));
    plan::Choice choice = playbook_run.choice;
    if (playbook_run.waiting == Waiting::none)
      std::ranges::move(waiting_phases(playbook_run.library.playbook()),
                        std::back_inserter(choice.skip_phases));
    return plan::make(playbook_run.cluster, playbook_run.decisions, census, playbook_run.library,
                      playbook_run.bundle, choice);
  };
  plan::Plan first = TRY(plan_of(survey.census));
  Execution execution{playbook_run.assets,
                      std::move(first),
                      {},
                      playbook_run.consent,
                      {},
                      playbook_run.needed,
                      playbook_run.reboots,
                      playbook_run.judge,
                      &playbook_run.cluster,
                      playbook_run.decisions,
                      playbook_run.running,
                      playbook_run.consequence,
                      playbook_run.more};
  for (const auto& [host, facts] : survey.census) execution.hosts.push_back(host);
  execution.again = [&](Unread& unread) -> Result<plan::Plan> {
    Survey fresh = TRY(take_census(*session.fleet, playbook_run.assets));
    for (auto& [host, facts] : fresh.census) {
      const auto why = why_unread(host, facts);
      if (!why) continue;
      if (!unread.lost.contains(host) && survey.census.contains(host)) unread.now.emplace(host, *why);
      facts = std::unexpected(*why);
    }
    return plan_of(fresh.census);
  };
  const Outcome outcome = TRY(execute(execution, session, reporter, io));
  if (playbook_run.consent != Consent::preview && outcome == Outcome::done)
    report_not_waited(playbook_run, reporter);
  return outcome;
}

Result<Outcome> execute(const Execution& execution, const RunContext& session, report::Reporter& reporter,
                        Io& io) {
  const plan::Plan& plan = execution.plan;
  transport::Fleet& fleet = *session.fleet;
  TRY(session.folder.save_text("plan.json", plan::to_json(plan)));
  run::Identity who = TRY(run::identity());
  if (execution.reboots == Rebooting::done) TRY(resume_at_boot(execution.assets, session.folder, io, who));
  Needed needed(reporter);
  const run::Outcome preview = run::execute(plan, fleet, needed, run::Mode::preview, who);
  const bool none_reached = !preview.lost.empty() && preview.lost.size() == execution.hosts.size();
  if (none_reached && !preview.interrupted) return Outcome::unreachable;
  if (!preview.failed.empty() || preview.interrupted) return outcome_of(preview);
  const int more = execution.more ? TRY(execution.more(reporter)) : 0;
  if (preview.needed == 0 && more == 0) {
    notify(reporter, Did::finished, "nothing to do");
    return Outcome::done;
  }
  if (preview.needed > 0) notify_effects(execution, effects_of(plan, needed), preview.needed, reporter);
  if (execution.consent == Consent::preview) {
    notify(reporter, Did::finished, "dry run: nothing was changed");
    return execution.needed;
  }
  if (execution.consent == Consent::ask) {
    const std::optional<bool> yes = io.confirm ? io.confirm(question) : std::nullopt;
    if (!yes)
      return base::fail(base::Fault::usage, "no terminal to ask for confirmation",
                        "use -y to confirm, or --dry-run to preview");
    if (!*yes) {
      notify(reporter, Did::finished, "nothing was changed");
      return Outcome::interrupted;
    }
  }
  if (!TRY(confirm_network(execution, network_changes(plan, execution.running, needed), io))) {
    notify(reporter, Did::finished, "nothing was changed");
    return Outcome::interrupted;
  }
  if (preview.needed == 0) return Outcome::done;
  const std::string lock = TRY(execution.assets.read("playbooks/lock.sh"));
  const run::Scripts scripts{plan.prelude, lock};
  TRY(run::lock(execution.hosts, fleet, reporter, scripts, who));
  notify(reporter, Did::started, "");
  std::string own_host;
  FailureLog failures(reporter);
  const Result<Outcome> outcome = apply(execution, session, failures, who, own_host);
  if (execution.cluster)
    explain_failures(failures.all(), *execution.cluster, execution.decisions, execution.assets, fleet,
                     session.folder, reporter);
  run::unlock(execution.hosts, fleet, reporter, scripts, who);
  if (!own_host.empty()) reboot_own_host(own_host, session, reporter, io);
  return outcome;
}

Result<Outcome> with_reporter(const RunFolder& folder, Format format, Io& io,
                              const std::function<Result<Outcome>(report::Reporter&)>& act) {
  report::Collector collector;
  const auto file = TRY(report::json_lines(folder.path() / "events.jsonl"));
  std::vector<report::Reporter*> to = {&collector, file.get()};
  auto terminal = format == Format::text ? report::terminal(io.out, io.out_style) : nullptr;
  if (io.log) terminal = report::json_lines(io.log);
  if (terminal) to.push_back(terminal.get());
  const Result<Outcome> outcome = act(*report::fan_out(std::move(to)));
  terminal.reset();
  report::Report report = report::fold(collector.events());
  report.same_hosts = file_option(io.command);
  TRY(folder.save("report.json", report::to_tree(report)));
  io.out(format == Format::text ? report::to_text(report, io.out_style)
                                : base::json::write(report::to_tree(report)) + "\n");
  if (format == Format::text && outcome && *outcome == Outcome::interrupted && report.changed() > 0)
    io.out("interrupted; run the same command again to continue\n");
  return outcome;
}

Result<Outcome> run_and_report(const PlaybookRun& playbook_run, const Survey& survey,
                               const RunContext& session, Format format, Io& io) {
  return with_reporter(session.folder, format, io, [&](report::Reporter& reporter) {
    return run_playbook(playbook_run, survey, session, reporter, io);
  });
}

}  // namespace session
