#include "gpuadm/base/json.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "app/census.hpp"
#include "app/cluster_view.hpp"
#include "app/connections.hpp"
#include "app/findings.hpp"
#include "app/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace app {
namespace {

/// The checks that `--only` and `--skip` leave. A host that cannot be reached is always told.
bool wanted(const DoctorOptions& options, std::string_view id) {
  const auto listed = [&](const std::vector<std::string>& patterns) {
    return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(id, pattern); });
  };
  return (options.only.empty() || listed(options.only)) && !listed(options.skip);
}

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

}  // namespace

Result<Outcome> doctor(const DoctorOptions& options, Io& io) {
  TRY(known_ids(options.only));
  TRY(known_ids(options.skip));
  if (options.list) return list(options, io);

  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(read_cluster(options.hosts, options.common.connection));
  const auto connections = TRY(Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(Access::read_only);
  const Seen seen = TRY(
      take_census(*fleet, assets,
                  options.stage == "cluster" ? Afterwards::keep_connection : Afterwards::close_connection));

  std::vector<report::Finding> findings;
  if (options.stage == "cluster") {
    findings = TRY(find_in_cluster(cluster, seen.census, *fleet, assets));
  } else {
    const checks::Stage stage = options.stage == "node" ? checks::Stage::node : checks::Stage::preflight;
    findings = TRY(find(cluster, seen.census, assets, stage));
  }
  std::erase_if(findings, [&](const report::Finding& finding) {
    return finding.id != reachable && !wanted(options, finding.id);
  });

  const RunFolder folder = TRY(RunFolder::make(cluster.name));
  TRY(folder.save("cluster.yaml", spec::to_tree(cluster)));
  TRY(folder.save("facts.json", to_tree(seen.census)));
  TRY(folder.save("findings.json", report::to_tree(findings)));

  io.out(options.format == Format::json ? base::json::write(report::to_tree(findings)) + "\n"
                                        : report::to_text(findings, io.out_style));
  if (seen.none_reached()) return Outcome::unreachable;
  return std::ranges::any_of(findings, report::blocks) ? Outcome::blocked : Outcome::done;
}

}  // namespace app
