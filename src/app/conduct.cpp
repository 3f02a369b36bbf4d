#include "app/conduct.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/fold.hpp"
#include "gpuadm/run/run.hpp"

#include "app/reason.hpp"
#include "app/resume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace app {

namespace {

using report::Did;

constexpr const char* network_test = "verify/network";  // a phase

/// Passes everything on and keeps the ids of the steps that are needed.
class Needed final : public report::Reporter {
 public:
  explicit Needed(report::Reporter& next) : next_(next) {}
  void on(const report::Event& event) override {
    if (event.did == Did::needed) ids_.insert(event.host + "\n" + event.step);
    next_.on(event);
  }
  [[nodiscard]] bool has(const std::string& host, const std::string& step) const {
    return ids_.contains(host + "\n" + step);
  }

 private:
  report::Reporter& next_;
  std::set<std::string> ids_;
};

std::string listed(const std::set<std::string>& names) {
  return base::join(std::vector(names.begin(), names.end()), ", ");
}

/// "12 steps are needed on 1 host; packages: containerd; restarts: containerd.service".
std::string summary(const plan::Plan& plan, const Needed& needed, int count) {
  std::set<std::string> packages;
  std::set<std::string> restarts;
  std::set<std::string> hosts;
  std::set<std::string> reboots;
  for (const plan::Stage& stage : plan.stages)
    for (const plan::Walk& walk : stage.walks)
      for (const plan::Action& action : walk.actions) {
        if (!needed.has(walk.host, action.id)) continue;
        hosts.insert(walk.host);
        packages.insert(action.effects.packages.begin(), action.effects.packages.end());
        restarts.insert(action.effects.restarts.begin(), action.effects.restarts.end());
        if (action.effects.reboot)
          reboots.insert(fmt::format("{} ({})", base::printable(walk.host), action.title));
      }
  std::string text =
      fmt::format("{} step{} needed on {}", count, count == 1 ? " is" : "s are", listed(hosts));
  if (!packages.empty()) text += "; installs packages: " + listed(packages);
  if (!restarts.empty()) text += "; restarts: " + listed(restarts);
  if (!reboots.empty()) text += "; reboots where it must be: " + listed(reboots);
  return text;
}

Outcome outcome_of(const run::Outcome& outcome) {
  if (outcome.interrupted) return Outcome::interrupted;
  return outcome.failed.empty() ? Outcome::done : Outcome::failed;
}

/// A line each, and how many more there are.
std::string shown(const std::vector<std::string>& lines) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, lines.size()); ++i)
    text += "\n  " + base::printable(lines[i], 200);
  if (lines.size() > most) text += fmt::format("\n  and {} more", lines.size() - most);
  return text;
}

/// The plan from what the hosts are now that nobody else acts on them: another run may have been there since
/// they were looked at. Who was asked about another plan is asked again.
Result<plan::Plan> look_again(const Performance& performance, const Visit& visit, report::Reporter& reporter,
                              const run::Identity& who) {
  if (!performance.again) return performance.plan;
  plan::Plan plan = TRY(performance.again({}));
  const std::vector<std::string> more = plan::additions(performance.plan, plan);
  if (more.empty()) return plan;
  if (performance.consent == Consent::ask)
    return base::fail(
        base::Fault::blocked,
        "the hosts have changed since the plan was shown; nothing was changed. Now also needed:" +
            shown(more),
        "run the same command again to see the new plan");
  tell(reporter, Did::note, "the hosts have changed since they were looked at: this is the plan now");
  TRY(visit.folder.save("plan.json", plan::to_tree(plan)));
  const run::Outcome preview = run::execute(plan, *visit.fleet, reporter, run::Mode::preview, who);
  if (preview.interrupted)
    return base::fail(base::Fault::interrupted, "interrupted while hosts were looked at");
  return plan;
}

/// The stages from first to last, with the plan made again where a stage asks for it. `own_host`: as
/// run::Outcome has it.
Result<Outcome> apply(const Performance& performance, const Visit& visit, report::Reporter& reporter,
                      const run::Identity& who, std::string& own_host) {
  plan::Plan plan = TRY(look_again(performance, visit, reporter, who));
  run::Outcome outcome;
  while (true) {
    outcome = run::execute(plan, *visit.fleet, reporter, run::Mode::apply, who, std::move(outcome),
                           performance.reboots == Rebooting::done ? run::Reboots::done : run::Reboots::left,
                           performance.judge);
    own_host = outcome.own_host;
    if (!outcome.refresh) return outcome_of(outcome);
    plan = TRY(performance.again(outcome.lost));
  }
}

/// A phase that was left out, as a step that was skipped: the report counts it.
void tell_skipped(const Score& score, const std::string& phase, const char* why, report::Reporter& reporter) {
  report::Event event;
  event.host = score.cluster.hosts.front().name;
  event.stage = event.step = phase;
  event.did = Did::skipped;
  event.detail = why;
  reporter.on(event);
}

/// What of the waits and tests at the end was left out.
void tell_not_waited(const Score& score, report::Reporter& reporter) {
  if (score.waiting == Waiting::until_it_works) {
    const auto& phases = score.library.playbook().phases;
    const bool has_test = std::ranges::find(phases, network_test, &playbook::Phase::name) != phases.end();
    if (has_test && plan::is_chosen(network_test, score.choice) &&
        score.cluster.runtime.engine == spec::Engine::crio)
      tell_skipped(score, network_test, "gpuadm imports no images into CRI-O", reporter);
    return;
  }
  tell(reporter, Did::note,
       "--no-wait: not waited for the cluster, and its network was not tested; gpuadm verify tests it");
  for (const std::string& phase : waiting_phases(score.library.playbook()))
    tell_skipped(score, phase, "--no-wait", reporter);
}

}  // namespace

std::vector<std::string> waiting_phases(const playbook::Playbook& playbook) {
  std::vector<std::string> names;
  for (const playbook::Phase& phase : playbook.phases)
    if (phase.name.starts_with("verify/") || phase.name == "gpu/offered") names.push_back(phase.name);
  return names;
}

void tell(report::Reporter& reporter, Did did, const std::string& text) {
  report::Event event;
  event.did = did;
  event.detail = text;
  reporter.on(event);
}

Result<Visit> Visit::open(const spec::Cluster& cluster, const Connection& connection, Consent consent,
                          Io& io) {
  Visit visit{TRY(RunFolder::make(cluster.name)), {}, {}};
  TRY(visit.folder.save("cluster.yaml", spec::to_tree(cluster)));
  visit.connections = TRY(Connections::open(cluster, connection, io));
  visit.fleet = visit.connections->fleet(consent == Consent::preview ? Access::read_only : Access::full);
  return visit;
}

Result<Seen> Visit::see_all(const assets::Store& assets) const {
  Seen seen = TRY(take_census(*fleet, assets));
  TRY(folder.save("facts.json", to_tree(seen.census)));
  for (const auto& [host, facts] : seen.census)
    if (!facts) return std::unexpected(facts.error());
  return seen;
}

Result<Outcome> conduct(const Score& score, const Seen& seen, const Visit& visit, report::Reporter& reporter,
                        Io& io) {
  for (const std::string& note : score.notes) tell(reporter, Did::note, note);
  const auto plan_of = [&score](const facts::Census& census) {
    plan::Choice choice = score.choice;
    if (score.waiting == Waiting::none)
      std::ranges::move(waiting_phases(score.library.playbook()), std::back_inserter(choice.skip_phases));
    return plan::make(score.cluster, census, score.library, score.bundle, choice);
  };
  Performance performance{score.assets,
                          TRY(plan_of(seen.census)),
                          {},
                          score.consent,
                          {},
                          score.needed,
                          score.reboots,
                          score.judge,
                          &score.cluster};
  for (const auto& [host, facts] : seen.census) performance.hosts.push_back(host);
  performance.again = [&](const std::set<std::string>& lost) -> Result<plan::Plan> {
    const Seen fresh = TRY(take_census(*visit.fleet, score.assets));
    for (const auto& [host, facts] : fresh.census)
      if (!facts && !lost.contains(host) && seen.census.contains(host)) return std::unexpected(facts.error());
    return plan_of(fresh.census);
  };
  const Outcome outcome = TRY(perform(performance, visit, reporter, io));
  if (score.consent != Consent::preview && outcome == Outcome::done) tell_not_waited(score, reporter);
  return outcome;
}

Result<Outcome> perform(const Performance& performance, const Visit& visit, report::Reporter& reporter,
                        Io& io) {
  const plan::Plan& plan = performance.plan;
  transport::Fleet& fleet = *visit.fleet;
  TRY(visit.folder.save("plan.json", plan::to_tree(plan)));
  run::Identity who = run::identity();
  if (performance.reboots == Rebooting::done) TRY(resume_at_boot(performance.assets, visit.folder, io, who));
  Needed needed(reporter);
  const run::Outcome preview = run::execute(plan, fleet, needed, run::Mode::preview, who);
  if (!preview.failed.empty() || preview.interrupted) return outcome_of(preview);
  if (preview.needed == 0) {
    tell(reporter, Did::finished, "nothing is to be done");
    return Outcome::done;
  }
  tell(reporter, Did::note, summary(plan, needed, preview.needed));
  if (performance.consent == Consent::preview) {
    tell(reporter, Did::finished, "a dry run: nothing was changed");
    return performance.needed;
  }
  if (performance.consent == Consent::ask) {
    const std::optional<bool> yes = io.confirm ? io.confirm("Go on?") : std::nullopt;
    if (!yes)
      return base::fail(base::Fault::usage, "there is no terminal to ask on",
                        "add -y to agree beforehand, or --dry-run to only look");
    if (!*yes) {
      tell(reporter, Did::finished, "nothing was changed");
      return Outcome::interrupted;
    }
  }
  const run::Scripts scripts{plan.prelude, TRY(performance.assets.read("playbooks/lock.sh"))};
  TRY(run::lock(performance.hosts, fleet, reporter, scripts, who));
  std::string own_host;
  FailureLog failures(reporter);
  const Result<Outcome> outcome = apply(performance, visit, failures, who, own_host);
  if (performance.cluster)
    explain_failures(failures.all(), *performance.cluster, performance.assets, fleet, visit.folder, reporter);
  run::unlock(performance.hosts, fleet, reporter, scripts, who);
  if (!own_host.empty()) reboot_own_host(own_host, visit, reporter, io);
  return outcome;
}

Result<Outcome> telling(const RunFolder& folder, Format format, Io& io,
                        const std::function<Result<Outcome>(report::Reporter&)>& act) {
  report::Collector collector;
  const auto file = TRY(report::json_lines(folder.path() / "events.jsonl"));
  std::vector<report::Reporter*> to = {&collector, file.get()};
  auto terminal = format == Format::text ? report::terminal(io.out, io.out_style) : nullptr;
  if (io.log) terminal = report::json_lines(io.log);
  if (terminal) to.push_back(terminal.get());
  const Result<Outcome> outcome = act(*report::fan_out(std::move(to)));
  terminal.reset();
  const report::Report report = report::fold(collector.events());
  TRY(folder.save("report.json", report::to_tree(report)));
  io.out(format == Format::text ? report::to_text(report, io.out_style)
                                : base::json::write(report::to_tree(report)) + "\n");
  return outcome;
}

Result<Outcome> conduct_and_tell(const Score& score, const Seen& seen, const Visit& visit, Format format,
                                 Io& io) {
  return telling(visit.folder, format, io,
                 [&](report::Reporter& reporter) { return conduct(score, seen, visit, reporter, io); });
}

}  // namespace app
