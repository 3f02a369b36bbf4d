#include "commands/inspect/fix.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/inspect/doctor_options.hpp"
#include "commands/install/identity.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using report::Finding;
using report::Verdict;

/// Rejects options that cannot be combined with --fix.
Result<> fits(const DoctorOptions& options) {
  const auto refuse = [](const char* what, const char* hint) {
    return base::fail(base::Fault::usage, fmt::format("--fix cannot be combined with {}", what), hint);
  };
  if (options.demo) return refuse("--demo", "specify the hosts");
  if (!options.from.empty()) return refuse("--from", "specify the hosts");
  if (!options.record.empty()) return refuse("--record", "record first, then fix");
  if (!options.baseline.empty()) return refuse("--baseline", "select findings with --only ID,...");
  if (options.stage == "cluster")
    return refuse("--stage cluster", "use --stage node for hosts that are in a cluster");
  if (options.format != Format::text && options.format != Format::json)
    return refuse("this output format", "use -o text or -o json");
  return {};
}

/// One survey of the hosts.
class Check {
 public:
  Check(const DoctorOptions& options, const assets::Store& assets, spec::Cluster& cluster,
        transport::Fleet& fleet, const Io& io)
      : options_(options), assets_(assets), cluster_(cluster), fleet_(fleet), io_(io) {}

  Result<> check() {
    survey_ = TRY(
        session::take_census(fleet_, assets_, session::Afterwards::keep_connection, session::Texts::dropped,
                             options_.stage.empty() || options_.stage == "node" ? session::Reasons::read
                                                                                : session::Reasons::skipped,
                             &cluster_));
    cluster_ = known_settings(cluster_, options_.hosts.file, survey_, fleet_, assets_, io_);
    findings_ = TRY(options_.stage.empty()
                        ? session::find_by_state(cluster_, {}, survey_.census, std::nullopt, assets_)
                        : session::find(cluster_, {}, survey_.census, assets_, stage_of(options_)));
    std::erase_if(findings_, [&](const Finding& finding) {
      return finding.id != session::reachable && !wanted(options_, finding.id);
    });
    return mark_fixable(findings_, cluster_, survey_.census, assets_);
  }

  [[nodiscard]] const session::Survey& survey() const { return survey_; }
  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }
  [[nodiscard]] std::vector<Finding> fixable() const {
    std::vector<Finding> found;
    std::ranges::copy_if(findings_, std::back_inserter(found), &Finding::fixable);
    return found;
  }
  [[nodiscard]] bool fails_still() const {
    return std::ranges::any_of(findings_, [&](const Finding& f) { return fails(f, options_); });
  }

 private:
  const DoctorOptions& options_;
  const assets::Store& assets_;
  spec::Cluster& cluster_;
  transport::Fleet& fleet_;
  const Io& io_;
  session::Survey survey_;
  std::vector<Finding> findings_;
};

plan::Choice to_fix(const std::vector<Finding>& findings) {
  plan::Choice choice;
  choice.fixes.emplace();
  for (const Finding& finding : findings) (*choice.fixes)[finding.host].insert(finding.id);
  return choice;
}

/// The findings of `before` that are no longer open.
std::vector<Finding> fixed(const std::vector<Finding>& before, const std::vector<Finding>& after) {
  std::vector<Finding> gone;
  std::ranges::copy_if(before, std::back_inserter(gone), [&](const Finding& finding) {
    return std::ranges::none_of(after, [&](const Finding& other) {
      return other.host == finding.host && other.id == finding.id && is_open(other);
    });
  });
  const auto [first, last] = std::ranges::unique(
      gone, [](const Finding& a, const Finding& b) { return a.host == b.host && a.id == b.id; });
  gone.erase(first, last);
  return gone;
}

std::string to_text(const std::vector<Finding>& gone) {
  std::string text;
  for (const Finding& finding : gone)
    text += fmt::format("fixed on {}: {} ({})\n", base::printable(finding.host),
                        base::printable(finding.message), finding.id);
  return text.empty() ? text : text + "\n";
}

base::Tree to_tree(const std::vector<Finding>& gone, const std::vector<Finding>& after) {
  base::Tree list = base::Tree::list();
  for (const Finding& finding : gone)
    list.push(base::Tree::map_of({{"host", finding.host}, {"id", finding.id}}));
  base::Tree tree = report::to_tree(after);
  tree.set("fixed", std::move(list));
  return tree;
}

void show(const std::vector<Finding>& gone, const std::vector<Finding>& after, Format format, Io& io) {
  io.out(format == Format::json ? base::json::write(to_tree(gone, after)) + "\n"
                                : to_text(gone) + report::to_text(after, io.out_style));
}

}  // namespace

Fixes fixes_of(const playbook::Library& library) {
  Fixes fixes;
  for (const playbook::Phase& phase : library.playbook().phases)
    for (const playbook::Step& step : phase.steps)
      for (const std::string& id : step.fixes) fixes[id].push_back(step.title);
  return fixes;
}

Result<> mark_fixable(std::vector<Finding>& findings, const spec::Cluster& cluster,
                      const facts::Census& census, const assets::Store& assets) {
  const playbook::Library library = TRY(playbook::Library::load(assets, "fix"));
  const spec::Decisions decisions;
  for (Finding& finding : findings) {
    if (finding.verdict != Verdict::fail) continue;
    const auto host = std::ranges::find(cluster.hosts, finding.host.text(), &spec::Host::name);
    const auto facts = census.find(finding.host);
    if (host == cluster.hosts.end() || facts == census.end() || !facts->second) continue;
    const playbook::Context context{cluster,           decisions, *host, *facts->second,
                                    library.catalog(), nullptr,   {}};
    for (const playbook::Phase& phase : library.playbook().phases)
      for (const playbook::Step& step : phase.steps)
        finding.fixable =
            finding.fixable || (std::ranges::find(step.fixes, finding.id.text()) != step.fixes.end() &&
                                playbook::selected(step, context));
  }
  return {};
}

Result<Outcome> fix(const DoctorOptions& options, Io& io) {
  TRY(fits(options));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const playbook::Library library = TRY(playbook::Library::load(assets, "fix"));
  spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const session::RunContext session =
      TRY(session::RunContext::open(cluster, options.common.connection, options.consent, io));

  Check hosts(options, assets, cluster, *session.fleet, io);
  TRY(hosts.check());
  TRY(session.folder.save_results(cluster, hosts.survey().census, hosts.findings()));
  const std::vector<Finding> before = hosts.fixable();
  const auto judged = [&] {
    if (hosts.survey().none_reached()) return Outcome::unreachable;
    return hosts.fails_still() ? Outcome::blocked : Outcome::done;
  };
  if (before.empty()) {
    show({}, hosts.findings(), options.format, io);
    if (options.format == Format::text) io.err("nothing to fix\n");
    return judged();
  }

  session::Survey reached = hosts.survey();
  std::erase_if(reached.census, [](const auto& entry) { return !entry.second; });
  Io output = io;
  if (options.format == Format::json) output.out = [](std::string_view) {};
  const session::PlaybookRun playbook_run{cluster, assets, library, nullptr, to_fix(before), options.consent};
  const Outcome outcome =
      TRY(session::with_reporter(session.folder, options.format, output, [&](report::Reporter& reporter) {
        return session::run_playbook(playbook_run, reached, session, reporter, io);
      }));
  if (outcome == Outcome::interrupted) return outcome;
  if (options.consent != Consent::preview) TRY(hosts.check());
  if (options.format == Format::text) io.out("\n");
  show(options.consent == Consent::preview ? std::vector<Finding>() : fixed(before, hosts.findings()),
       hosts.findings(), options.format, io);
  return outcome == Outcome::done ? judged() : outcome;
}

}  // namespace commands
