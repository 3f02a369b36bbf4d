#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/report/wrap.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/spec/migrate.hpp"
#include "gpuadm/spec/schema.hpp"

#include "commands/app.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

/// Whether a key equals the requested one, or is below it: "network", "network." and "network.podCIDR".
bool is_named(const std::string& path, std::string name) {
  if (name.ends_with('.')) name.pop_back();
  return path == name || path.starts_with(name + ".") || path.starts_with(name + "[]");
}

/// The likely intended key: by its whole path, or by its last word.
std::optional<std::string> nearest_key(const std::string& name, const std::vector<std::string>& known) {
  if (const auto near = base::nearest(name, known)) return near;
  std::vector<std::string> last;
  for (const std::string& path : known) last.push_back(path.substr(path.rfind('.') + 1));
  const auto near = base::nearest(name, last);
  return near ? std::optional(known[static_cast<std::size_t>(std::ranges::find(last, *near) - last.begin())])
              : std::nullopt;
}

Result<> known_keys(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const spec::Key& key : spec::keys()) {
    known.push_back(key.path);
    if (const std::size_t dot = key.path.find('.'); dot != std::string::npos)
      known.push_back(key.path.substr(0, dot));
  }
  for (const std::string& name : names) {
    if (std::ranges::any_of(known, [&](const std::string& path) { return is_named(path, name); })) continue;
    const auto near = nearest_key(name, known);
    return base::fail(base::Fault::usage,
                      fmt::format("unknown key of the cluster file: {}", base::printable(name, 200)),
                      near ? fmt::format("did you mean {}?", *near) : "gpuadm config explain lists all keys");
  }
  return {};
}

}  // namespace

Result<Outcome> config_explain(const std::vector<std::string>& paths, Format format, Io& io) {
  TRY(known_keys(paths));
  base::Tree tree = base::Tree::list();
  std::string text;
  for (const spec::Key& key : spec::keys()) {
    const bool named =
        std::ranges::any_of(paths, [&](const std::string& name) { return is_named(key.path, name); });
    if (!paths.empty() && !named) continue;
    tree.push(base::Tree::map_of(
        {{"path", key.path}, {"type", key.type}, {"default", key.fallback}, {"says", key.says}}));
    text += fmt::format("{}  {}{}\n    {}\n", key.path, key.type,
                        key.fallback.empty() ? "" : fmt::format(", default {}", key.fallback),
                        report::wrapped(key.says, 4, io.out_style.width));
  }
  io.out(format == Format::json ? base::json::write(tree) + "\n" : text);
  return Outcome::done;
}

Result<Outcome> config_schema(Io& io) {
  io.out(base::json::write(spec::schema()) + "\n");
  return Outcome::done;
}

Result<Outcome> config_lint(const Common& common, const std::filesystem::path& file, Format format, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster({.file = file, .targets = {}}, common.connection));
  const auto data = TRY(checks::read_data([&](std::string_view path) { return assets.read(path); }));
  std::vector<report::Finding> findings;
  if (cluster.kubernetes.version)
    findings = checks::lint(cluster, *cluster.kubernetes.version, *data);
  else
    io.err("kubernetes.version is not set: feature gates and flags were not checked\n");
  io.out(format == Format::json ? base::json::write(report::to_tree(findings)) + "\n"
         : findings.empty()     ? fmt::format("{}: valid\n", file.string())
                                : report::details(findings, io.out_style));
  return std::ranges::any_of(findings, report::blocks) ? Outcome::blocked : Outcome::done;
}

Result<Outcome> config_migrate(const std::filesystem::path& file, Writes writes, Io& io) {
  const std::string name = base::printable(file.string());
  const std::string before = TRY(base::read_file(file));
  const spec::Migrated after = TRY(spec::migrate(before, name));
  if (after.changes.empty()) {
    io.out(fmt::format("{} is in the current format\n", name));
    return Outcome::done;
  }
  io.out(base::printable(base::unified_diff(before, after.text, name, name), after.text.size() * 4 + 4096));
  for (const std::string& change : after.changes) io.out(fmt::format("{}\n", change));
  if (writes == Writes::no) return Outcome::done;

  std::error_code error;
  // A symbolic link is kept: its target is written.
  const std::filesystem::path target = std::filesystem::canonical(file, error);
  std::filesystem::path backup = target;
  backup += ".bak";
  TRY(base::is_new(backup, "move it, and run again; nothing was written"));
  const auto mode = static_cast<unsigned>(std::filesystem::status(target, error).permissions()) & 0777U;
  TRY(base::write_file(backup, before, mode));
  TRY(base::write_file(target, after.text, mode));
  io.out(fmt::format("wrote {}; the original is {}\n", name, base::printable(backup.string())));
  return Outcome::done;
}

Result<Outcome> config_show(const std::filesystem::path& file, Format format, Io& io) {
  const spec::Cluster cluster = TRY(session::read_cluster({.file = file, .targets = {}}, {}));
  const base::Tree tree = spec::to_tree(cluster);
  io.out(format == Format::json ? base::json::write(tree) + "\n" : base::yaml::write(tree));
  return Outcome::done;
}

}  // namespace commands
