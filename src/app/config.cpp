#include "gpuadm/base/json.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "app/connections.hpp"
#include "app/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace app {

Result<Outcome> config_explain(Format format, Io& io) {
  base::Tree tree = base::Tree::list();
  std::string text;
  for (const spec::Key& key : spec::keys()) {
    tree.push(base::Tree::map_of(
        {{"path", key.path}, {"type", key.type}, {"default", key.fallback}, {"says", key.says}}));
    text += fmt::format("{}  {}{}\n    {}\n", key.path, key.type,
                        key.fallback.empty() ? "" : fmt::format(", default {}", key.fallback), key.says);
  }
  io.out(format == Format::json ? base::json::write(tree) + "\n" : text);
  return Outcome::done;
}

Result<Outcome> config_lint(const Common& common, const std::filesystem::path& file, Format format, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(common.assets));
  const spec::Cluster cluster = TRY(read_cluster({.file = file, .targets = {}}, common.connection));
  const auto data = TRY(checks::read_data([&](std::string_view path) { return assets.read(path); }));
  std::vector<report::Finding> findings;
  if (cluster.kubernetes.version)
    findings = checks::lint(cluster, *cluster.kubernetes.version, *data);
  else
    io.err("kubernetes.version is not set: feature gates and flags were not held against a version\n");
  io.out(format == Format::json ? base::json::write(report::to_tree(findings)) + "\n"
         : findings.empty()     ? fmt::format("{}: nothing to complain about\n", file.string())
                                : report::details(findings, io.out_style));
  return std::ranges::any_of(findings, report::blocks) ? Outcome::blocked : Outcome::done;
}

Result<Outcome> config_show(const std::filesystem::path& file, Format format, Io& io) {
  const spec::Cluster cluster = TRY(read_cluster({.file = file, .targets = {}}, {}));
  const base::Tree tree = spec::to_tree(cluster);
  io.out(format == Format::json ? base::json::write(tree) + "\n" : base::yaml::write(tree));
  return Outcome::done;
}

}  // namespace app
