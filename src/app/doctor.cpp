#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "app/census.hpp"
#include "app/cluster_view.hpp"
#include "app/connections.hpp"
#include "app/demo.hpp"
#include "app/findings.hpp"
#include "app/fix.hpp"
#include "app/recording.hpp"
#include "app/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace app {
namespace {

Outcome list(const DoctorOptions& options, Io& io) {
  base::Tree tree = base::Tree::list();
  std::string text;
  for (const checks::About& about : every_check()) {
    if (!wanted(options, about.id)) continue;
    tree.push(base::Tree::map_of(
        {{"id", about.id}, {"title", about.title}, {"why", about.why}, {"stages", stages_of(about.stages)}}));
    text += fmt::format("{:<40} {}\n", about.id, about.title);
  }
  io.out(options.format == Format::json ? base::json::write(tree) + "\n" : text);
  return Outcome::done;
}

struct Judged {
  Recording looked;
  std::vector<report::Finding> findings;
};

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
                                  {"stage", stages_of(static_cast<unsigned>(demo.stage))}}));
    text += fmt::format("{:<26} {} ({})\n", demo.name, demo.title, demo.leads);
  }
  io.out(format == Format::json ? base::json::write(tree) + "\n" : text);
  return Outcome::done;
}

/// A machine that is well but for one fault, in place of hosts.
Result<Judged> judge_demo(const DoctorOptions& options, const assets::Store& assets) {
  if (names_hosts(options) || !options.from.empty())
    return base::fail(base::Fault::usage,
                      "--demo judges a recording of its own: it goes with no host and no file");
  const std::vector<Demo> all = TRY(demos(assets));
  const auto demo = std::ranges::find(all, *options.demo, &Demo::name);
  if (demo == all.end()) {
    std::vector<std::string> names;
    for (const Demo& one : all) names.push_back(one.name);
    const auto near = base::nearest(*options.demo, names);
    return base::fail(base::Fault::usage, fmt::format("no demo is called {}", base::printable(*options.demo)),
                      near ? fmt::format("did you mean {}?", *near) : "gpuadm doctor --demo shows them all");
  }
  Judged judged{TRY(recording_of(*demo, assets)), {}};
  judged.findings = TRY(find(judged.looked.cluster, judged.looked.seen.census, assets, demo->stage));
  return judged;
}

/// A recording in place of hosts.
Result<Judged> judge_recording(const DoctorOptions& options, const assets::Store& assets) {
  if (names_hosts(options))
    return base::fail(base::Fault::usage, "--from judges a recording: it goes with no host and no file");
  if (options.stage == "cluster")
    return base::fail(base::Fault::usage, "--stage cluster asks a cluster: it goes with no recording");
  Judged judged{TRY(load_recording(options.from)), {}};
  const checks::Stage stage = options.stage == "node" ? checks::Stage::node : checks::Stage::preflight;
  judged.findings = TRY(find(judged.looked.cluster, judged.looked.seen.census, assets, stage));
  return judged;
}

/// Looks at the hosts, or at what was recorded of some, and judges.
Result<Judged> judge(const DoctorOptions& options, const assets::Store& assets, Io& io) {
  if (options.demo) return judge_demo(options, assets);
  if (!options.from.empty()) return judge_recording(options, assets);
  const bool in_cluster = options.stage == "cluster";
  Judged judged{{TRY(read_cluster(options.hosts, options.common.connection)), {}}, {}};
  auto& [cluster, seen] = judged.looked;
  const auto connections = TRY(Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(Access::read_only);
  seen = TRY(
      take_census(*fleet, assets, in_cluster ? Afterwards::keep_connection : Afterwards::close_connection));
  const checks::Stage stage = options.stage == "node" ? checks::Stage::node : checks::Stage::preflight;
  judged.findings = in_cluster ? TRY(find_in_cluster(cluster, seen.census, *fleet, assets))
                               : TRY(find(cluster, seen.census, assets, stage));
  return judged;
}

/// What tells findings of two runs apart.
std::string key_of(const std::string& host, const std::string& id) {
  return host + "\n" + id;
}

/// The open findings of an earlier run, as `doctor -o json` and the run folder have them.
Result<std::set<std::string>> read_baseline(const std::filesystem::path& file) {
  const base::Tree tree = TRY(base::json::read(TRY(base::read_file(file)), file.string()));
  const base::Tree* findings = tree.find("findings");
  if (!findings || !findings->is_list())
    return base::fail(base::Fault::usage, fmt::format("--baseline {}: it has no findings", file.string()),
                      "gpuadm doctor -o json > FILE makes one");
  std::set<std::string> known;
  for (const base::Tree& finding : findings->items()) {
    const auto text = [&](const char* key) {
      const base::Tree* value = finding.find(key);
      return value ? value->text() : std::string();
    };
    if (text("result") != "pass" && text("result") != "skip") known.insert(key_of(text("host"), text("id")));
  }
  return known;
}

std::string in_form(const std::vector<report::Finding>& findings, const spec::Cluster& cluster, Format format,
                    const report::Style& style) {
  switch (format) {
    case Format::json:
      return base::json::write(report::to_tree(findings)) + "\n";
    case Format::junit:
      return report::to_junit(findings);
    case Format::html:
      return report::to_html(findings, cluster.name, base::now());
    case Format::prometheus:
      return report::to_prometheus(findings, base::now());
    default:
      return report::headline(findings, style) + "\n\n" + report::to_text(findings, style);
  }
}

}  // namespace

Result<Outcome> doctor(const DoctorOptions& options, Io& io) {
  TRY(known_ids(options.only));
  TRY(known_ids(options.skip));
  if (options.list) return list(options, io);
  if (options.fix) return fix(options, io);
  const auto known =
      options.baseline.empty() ? std::set<std::string>() : TRY(read_baseline(options.baseline));

  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  if (options.demo && options.demo->empty()) return list_demos(TRY(demos(assets)), options.format, io);
  Judged judged = TRY(judge(options, assets, io));
  const Recording& looked = judged.looked;
  std::vector<report::Finding>& findings = judged.findings;
  if (!options.record.empty()) TRY(save_recording(options.record, looked));

  std::erase_if(findings, [&](const report::Finding& finding) {
    return (finding.id != reachable && !wanted(options, finding.id)) ||
           known.contains(key_of(finding.host, finding.id));
  });
  TRY(mark_fixable(findings, looked.cluster, looked.seen.census, assets));

  const RunFolder folder = TRY(RunFolder::make(looked.cluster.name));
  TRY(folder.save("cluster.yaml", spec::to_tree(looked.cluster)));
  TRY(folder.save("facts.json", to_tree(looked.seen.census)));
  TRY(folder.save("findings.json", report::to_tree(findings)));

  io.out(in_form(findings, looked.cluster, options.format, io.out_style));
  if (looked.seen.none_reached()) return Outcome::unreachable;
  return std::ranges::any_of(findings, [&](const auto& finding) { return fails(finding, options.fail_on); })
             ? Outcome::blocked
             : Outcome::done;
}

}  // namespace app
