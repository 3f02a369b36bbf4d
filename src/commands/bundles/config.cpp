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

#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

struct ConfigOptions {
  Common common;
  std::filesystem::path file;
  std::vector<std::string> keys;  ///< explain: keys, or the beginnings of several; empty: all
  bool dry_run = false;           ///< migrate
  Format format = Format::text;
};

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

/// Prints keys of the cluster file with type, default and meaning: those given and all below them; none: all.
Result<Outcome> config_explain(const ConfigOptions& options, Io& io) {
  TRY(known_keys(options.keys));
  base::Tree tree = base::Tree::list();
  std::string text;
  for (const spec::Key& key : spec::keys()) {
    const bool named =
        std::ranges::any_of(options.keys, [&](const std::string& name) { return is_named(key.path, name); });
    if (!options.keys.empty() && !named) continue;
    tree.push(base::Tree::map_of(
        {{"path", key.path}, {"type", key.type}, {"default", key.fallback}, {"message", key.message}}));
    text += fmt::format("{}  {}{}\n    {}\n", key.path, key.type,
                        key.fallback.empty() ? "" : fmt::format(", default {}", key.fallback),
                        report::wrapped(key.message, 4, io.out_style.width));
  }
  io.out(options.format == Format::json ? base::json::write(tree) + "\n" : text);
  return Outcome::done;
}

/// Prints the cluster file as JSON Schema, for editors.
Result<Outcome> config_schema(const ConfigOptions&, Io& io) {
  io.out(base::json::write(spec::schema()) + "\n");
  return Outcome::done;
}

/// Validates the file, and lints gates and flags against its version.
Result<Outcome> config_lint(const ConfigOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster =
      TRY(session::read_cluster({.file = options.file, .targets = {}}, options.common.connection));
  const auto data = TRY(checks::read_data([&](std::string_view path) { return assets.read(path); }));
  std::vector<report::Finding> findings;
  if (cluster.kubernetes.version)
    findings = checks::lint(cluster, *cluster.kubernetes.version, *data);
  else
    io.err("kubernetes.version is not set: feature gates and flags were not checked\n");
  io.out(options.format == Format::json ? base::json::write(report::to_tree(findings)) + "\n"
         : findings.empty()             ? fmt::format("{}: valid\n", options.file.string())
                                        : report::details(findings, io.out_style));
  return std::ranges::any_of(findings, report::blocks) ? Outcome::blocked : Outcome::done;
}

/// Converts the file to the current format, with the original in FILE.bak, and shows the difference; or only
/// shows it. A file in the current format is not changed.
Result<Outcome> config_migrate(const ConfigOptions& options, Io& io) {
  const std::string name = base::printable(options.file.string());
  const std::string before = TRY(base::read_file(options.file));
  const spec::Migrated after = TRY(spec::migrate(before, name));
  if (after.changes.empty()) {
    io.out(fmt::format("{} is in the current format\n", name));
    return Outcome::done;
  }
  io.out(base::printable(base::unified_diff(before, after.text, name, name), after.text.size() * 4 + 4096));
  for (const std::string& change : after.changes) io.out(fmt::format("{}\n", change));
  if (options.dry_run) return Outcome::done;

  std::error_code error;
  // A symbolic link is kept: its target is written.
  const std::filesystem::path target = std::filesystem::canonical(options.file, error);
  std::filesystem::path backup = target;
  backup += ".bak";
  TRY(base::is_new(backup, "move it, and run again; nothing was written"));
  const auto mode = static_cast<unsigned>(std::filesystem::status(target, error).permissions()) & 0777U;
  TRY(base::write_file(backup, before, mode));
  TRY(base::write_file(target, after.text, mode));
  io.out(fmt::format("wrote {}; the original is {}\n", name, base::printable(backup.string())));
  return Outcome::done;
}

/// Prints the file with every default, as a cluster file.
Result<Outcome> config_show(const ConfigOptions& options, Io& io) {
  const spec::Cluster cluster = TRY(session::read_cluster({.file = options.file, .targets = {}}, {}));
  const base::Tree tree = spec::to_tree(cluster);
  io.out(options.format == Format::json ? base::json::write(tree) + "\n" : base::yaml::write(tree));
  return Outcome::done;
}

void add_file_argument(Line& line, std::filesystem::path& file) {
  line.value("-f,--file,FILE", file, "FILE", "Cluster file").required();
}

}  // namespace

Command config_explain_command() {
  return CommandRow<ConfigOptions>{
      .name = "config explain",
      .group = Group::bundles,
      .summary = "Explain keys of the cluster file, with types and defaults",
      .options =
          [](Line& line, ConfigOptions& options) {
            add_format(line, options.format);
            line.argument("KEY", options.keys,
                          "Key or prefix, for example network.podCIDR or network (default: all keys)");
          },
      .examples = {{"gpuadm config explain", "every key"},
                   {"gpuadm config explain network", "keys of one section"}},
      .run = config_explain};
}

Command config_lint_command() {
  return CommandRow<ConfigOptions>{
      .name = "config lint",
      .group = Group::bundles,
      .summary = "Validate a cluster file, including feature gates and flags (alias: validate)",
      .options =
          [](Line& line, ConfigOptions& options) {
            line.alias("validate");
            line.assets(options.common.assets);
            add_format(line, options.format);
            add_file_argument(line, options.file);
          },
      .examples = {{"gpuadm config lint cluster.yaml", "keys, feature gates, flags"}},
      .run = config_lint};
}

Command config_schema_command() {
  return CommandRow<ConfigOptions>{
      .name = "config schema",
      .group = Group::bundles,
      .summary = "Print the JSON Schema of the cluster file, for editors",
      .options = [](Line&, ConfigOptions&) {},
      .examples = {{"gpuadm config schema >cluster.schema.json", "for an editor"}},
      .run = config_schema};
}

Command config_migrate_command() {
  return CommandRow<ConfigOptions>{
      .name = "config migrate",
      .group = Group::bundles,
      .summary = "Convert a cluster file of an older format; keeps comments and order",
      .options =
          [](Line& line, ConfigOptions& options) {
            add_file_argument(line, options.file);
            line.flag("--dry-run", options.dry_run, "Show the difference without writing");
          },
      .examples = {{"gpuadm config migrate cluster.yaml --dry-run", "the difference"},
                   {"gpuadm config migrate cluster.yaml", "the original is kept in cluster.yaml.bak"}},
      .run = config_migrate};
}

Command config_show_command() {
  return CommandRow<ConfigOptions>{.name = "config show",
                                   .group = Group::bundles,
                                   .summary = "Show a cluster file with all defaults",
                                   .options =
                                       [](Line& line, ConfigOptions& options) {
                                         add_format(line, options.format);
                                         add_file_argument(line, options.file);
                                       },
                                   .examples = {{"gpuadm config show cluster.yaml", "with every default"}},
                                   .run = config_show};
}

}  // namespace commands
