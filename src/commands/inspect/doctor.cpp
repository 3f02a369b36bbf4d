#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/recording.hpp"
#include "gpuadm/session/run_folder.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/session/watch.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "commands/inspect/baseline.hpp"
#include "commands/inspect/demo.hpp"
#include "commands/inspect/doctor_options.hpp"
#include "commands/inspect/doctor_text.hpp"
#include "commands/inspect/fix.hpp"
#include "commands/inspect/watch_and_report.hpp"
#include "commands/install/identity.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace commands {
namespace {

Outcome list(const DoctorOptions& options, Io& io) {
  base::Tree tree = base::Tree::list();
  std::string text;
  for (const checks::About& about : session::every_check()) {
    if (!wanted(options, about.id)) continue;
    tree.push(base::Tree::map_of({{"id", about.id},
                                  {"title", about.title},
                                  {"why", about.why},
                                  {"stages", session::stages_of(about.stages)}}));
    text += fmt::format("{:<40} {}\n", about.id, about.title);
  }
  io.out(options.format == Format::json ? base::json::write(tree) + "\n" : text);
  return Outcome::done;
}

/// Whether --only selects only checks of the stage `security`, which is never selected automatically.
bool asks_for_security(const DoctorOptions& options) {
  unsigned stages = 0;
  for (const checks::About& about : session::every_check())
    if (!options.only.empty() && wanted(options, about.id)) stages |= about.stages;
  return stages == static_cast<unsigned>(checks::Stage::security);
}

/// Evaluates the checks of the stage.
Result<std::vector<report::Finding>> find_for(const DoctorOptions& options,
                                              const session::ClusterSurvey& recording,
                                              const spec::Decisions& decisions, const assets::Store& assets) {
  const facts::Census& census = recording.survey.census;
  if (options.stage.empty())
    return session::find_by_state(recording.cluster, decisions, census, recording.view, assets);
  if (options.stage == "cluster")
    return session::find_in_cluster(recording.cluster, census, recording.view, assets);
  return session::find(recording.cluster, decisions, census, assets, stage_of(options));
}

session::Texts texts_of(const DoctorOptions& options) {
  return options.record.empty() ? session::Texts::dropped : session::Texts::kept;
}

bool names_hosts(const DoctorOptions& options) {
  return !options.hosts.targets.empty() || !options.hosts.file.empty();
}

Outcome list_demos(const std::vector<Demo>& all, Format format, Io& io) {
  base::Tree tree = base::Tree::list();
  std::string text;
  for (const Demo& demo : all) {
    tree.push(base::Tree::map_of({{"name", demo.name},
                                  {"title", demo.title},
                                  {"leads", demo.leads},
                                  {"machine", demo.machine},
                                  {"stage", session::stages_of(static_cast<unsigned>(demo.stage))}}));
    text += fmt::format("{:<26} {} ({})\n", demo.name, demo.title, demo.leads);
  }
  io.out(format == Format::json ? base::json::write(tree) + "\n" : text);
  return Outcome::done;
}

/// Loads a healthy machine with one fault.
Result<Demo> demo_named(const DoctorOptions& options, const assets::Store& assets) {
  if (names_hosts(options) || !options.from.empty())
    return base::fail(base::Fault::usage, "--demo cannot be combined with hosts or files");
  std::vector<Demo> all = TRY(demos(assets));
  const auto demo = std::ranges::find(all, *options.demo, &Demo::name);
  if (demo != all.end()) return std::move(*demo);
  std::vector<std::string> names;
  for (const Demo& one : all) names.push_back(one.name);
  const auto near = base::nearest(*options.demo, names);
  return base::fail(base::Fault::usage, fmt::format("unknown demo: {}", base::printable(*options.demo)),
                    near ? fmt::format("did you mean {}?", *near) : "gpuadm doctor --demo lists them");
}

/// Loads a recording.
Result<session::ClusterSurvey> recorded(const DoctorOptions& options) {
  if (names_hosts(options))
    return base::fail(base::Fault::usage, "--from cannot be combined with hosts or files");
  session::ClusterSurvey recording = TRY(session::load_recording(options.from, texts_of(options)));
  if (options.stage == "cluster" && !recording.view)
    return base::fail(base::Fault::usage,
                      fmt::format("{}: the recording contains no cluster", options.from.string()),
                      "record it with: gpuadm doctor --stage cluster --record DIR");
  return recording;
}

/// A description of a cluster without any part: every check of it is unknown.
constexpr const char* unread_cluster = "gpuadm-probe 1\n=== end\n";

/// How long doctor without --stage waits for a control-plane node to describe its cluster.
constexpr std::chrono::seconds first_view_timeout{60};

/// Surveys the hosts.
Result<session::ClusterSurvey> survey_hosts(const DoctorOptions& options, const assets::Store& assets,
                                            Io& io) {
  const bool in_cluster = options.stage == "cluster", by_state = options.stage.empty();
  session::ClusterSurvey recording{
      TRY(session::read_cluster(options.hosts, options.common.connection)), {}, {}};
  auto& [cluster, survey, view] = recording;
  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  const auto take_census = [&] {
    return session::take_census(*fleet, assets,
                                in_cluster || by_state ? session::Afterwards::keep_to_control_planes
                                                       : session::Afterwards::close_connection,
                                texts_of(options),
                                in_cluster || by_state || options.stage == "node" ? session::Reasons::read
                                                                                  : session::Reasons::skipped,
                                &cluster);
  };
  survey = TRY(take_census());
  const bool knows_storage = !cluster.storage.empty();
  cluster = known_settings(cluster, options.hosts.file, survey, *fleet, assets, io);
  if (!knows_storage && !cluster.storage.empty()) survey = TRY(take_census());  // with the folders of storage
  if (in_cluster) view = TRY(session::view_cluster(cluster, survey.census, *fleet, assets));
  if (by_state && session::has_control_plane(cluster, survey.census)) {
    // Hosts are checked even if no control plane responds.
    auto answer = session::view_cluster(cluster, survey.census, *fleet, assets, first_view_timeout);
    if (answer) view = std::move(*answer);
    if (!answer && answer.error().fault == base::Fault::interrupted) return std::unexpected(answer.error());
    if (!answer) {
      io.err("the cluster could not be read: " + base::printable(answer.error().what) + "\n");
      view = unread_cluster;
    }
  }
  return recording;
}

/// The decisions of `gpuadm init --bundle`.
Result<spec::Decisions> decide(const DoctorOptions& options, const session::ClusterSurvey& recording,
                               const Io& io) {
  spec::Decisions decisions;
  if (options.bundle.empty()) return decisions;
  const bundle::Bundle bundle = TRY(session::open_verified(options.bundle, {}, io));
  if (!recording.cluster.kubernetes.version) decisions.kubernetes = base::Version::parse(bundle.kubernetes);
  session::decide_supplies(recording.cluster, recording.survey.census, &bundle, {}, decisions);
  return decisions;
}

void show(const std::vector<report::Finding>& findings, const session::ClusterSurvey& recording,
          const std::map<std::string, std::string>& stages, const DoctorOptions& options,
          const assets::Store& assets, const Io& io) {
  switch (options.format) {
    case Format::json:
      return report::write_json(findings, io.out, stages);
    case Format::junit:
      return io.out(report::to_junit(findings));
    case Format::html:
      return io.out(report::to_html(findings, recording.cluster.name, base::now()));
    case Format::prometheus:
      return io.out(report::to_prometheus(findings, base::now()));
    default: {
      StatusJudge judges(assets, io.err_style.complete);
      return io.out(text_of(findings, recording, options, judges, io.out_style));
    }
  }
}

Result<Outcome> doctor(const DoctorOptions& asked, Io& io) {
  DoctorOptions options = asked;
  TRY(session::known_ids(options.only));
  TRY(session::known_ids(options.skip));
  if (options.list) return list(options, io);
  if (options.stage.empty() && asks_for_security(options)) options.stage = "security";
  if (options.fix && options.watch == 0) return fix(options, io);
  const auto known =
      options.baseline.empty() ? std::set<std::string>() : TRY(read_baseline(options.baseline));

  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  if (options.demo && options.demo->empty()) return list_demos(TRY(demos(assets)), options.format, io);
  std::optional<Demo> demo;
  if (options.demo) {
    demo = TRY(demo_named(options, assets));
    options.stage = session::stages_of(static_cast<unsigned>(demo->stage));
  }
  spec::Decisions decisions;
  const session::Judge judge =
      [&](const session::ClusterSurvey& recording) -> Result<std::vector<report::Finding>> {
    auto findings = TRY(find_for(options, recording, decisions, assets));
    std::erase_if(findings, [&](const report::Finding& finding) {
      return (finding.id != session::reachable && !wanted(options, finding.id)) ||
             (!known.empty() && known.contains(finding_key(finding.host, finding.id)));
    });
    TRY(mark_fixable(findings, recording.cluster, recording.survey.census, assets));
    if (options.from.empty() && !options.demo) complete_remedies(findings, io.err_style);
    return findings;
  };
  if (options.watch > 0) return watch_and_report(options, assets, judge, io);
  session::ClusterSurvey recording = TRY(demo                   ? recording_of(*demo, assets)
                                         : options.from.empty() ? survey_hosts(options, assets, io)
                                                                : recorded(options));
  if (!options.bundle.empty()) recording.cluster.kubernetes.source = spec::Source::bundle;
  decisions = TRY(decide(options, recording, io));
  const std::vector<report::Finding> findings = TRY(judge(recording));
  // What is saved requests the decided version, because it is read without decisions.
  recording.cluster = spec::completed(std::move(recording.cluster), decisions);
  if (!options.record.empty())
    TRY(session::save_recording(options.record, recording, session::redactor_for(recording)));

  if (options.from.empty() && !demo) {
    const session::RunFolder folder = TRY(session::RunFolder::make(recording.cluster.name));
    TRY(folder.save_results(recording.cluster, recording.survey.census, findings));
    if (!options.bundle.empty()) TRY(folder.save("decisions.json", spec::to_tree(decisions)));
  }

  std::map<std::string, std::string> stages;
  if (options.stage.empty()) stages = session::stages_by_host(recording.survey.census);
  show(findings, recording, stages, options, assets, io);
  const auto age = TRY(checks::data_age([&](std::string_view path) { return assets.read(path); }));
  if (!age.note.empty()) io.err(age.note + "\n");
  if (recording.survey.none_reached()) return Outcome::unreachable;
  return std::ranges::any_of(findings, [&](const auto& finding) { return fails(finding, options); })
             ? Outcome::blocked
             : Outcome::done;
}

}  // namespace

Command doctor_command() {
  return CommandRow<DoctorOptions>{
      .name = "doctor",
      .group = Group::inspect,
      .summary = "Check hosts and clusters, and show how to fix what is wrong",
      .options = add_doctor,
      .examples = {{"gpuadm doctor -f cluster.yaml", "all hosts of the file"},
                   {"gpuadm doctor gpu1 -f cluster.yaml --only gpu,rdma", "one host, only GPUs and RDMA"},
                   {"gpuadm doctor root@192.0.2.10 --fix --dry-run", "show safe fixes"},
                   {"gpuadm doctor --demo", "list built-in faults"},
                   {"gpuadm doctor -f cluster.yaml -o junit", "for CI"}},
      .run = doctor};
}

}  // namespace commands
