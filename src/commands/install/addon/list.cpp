#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/report/columns.hpp"
#include "gpuadm/report/wrap.hpp"
#include "gpuadm/workload/addon_proof.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/install/addon/plan.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

struct AddonListOptions {
  Common common;
  Hosts hosts;
  Format format = Format::text;
};

struct AddonShowOptions {
  Common common;
  std::string name;
  Format format = Format::text;
};

using base::Tree;
using workload::Addon;

/// An add-on as the cluster has it.
struct AddonRow {
  const Addon* addon;
  std::string state, why;
  workload::AddonSettings settings;
};

std::string settings_text(const workload::AddonSettings& settings) {
  std::vector<std::string> words;
  for (const auto& [name, value] : settings) words.push_back(base::printable(name + "=" + value, 100));
  return base::join(words, " ");
}

AddonRow row_of(const Addon& addon, const std::vector<Tree>& objects) {
  AddonRow row{&addon, addon.by_hand.empty() ? "not enabled" : "not installed by gpuadm", {}, {}};
  std::vector<Tree> own;
  bool enabled = false;
  for (const Tree& object : objects) {
    const std::string kind = text_of(object, "kind");
    if (kind == "StorageClass" && addon.name == "local-path" && row.state == "not enabled" &&
        text_at(object, {"metadata", "name"}) == "local-path")
      row.state = "enabled with its storage";
    if (!workload::is_of_addon(object, addon)) continue;
    own.push_back(object);
    if (kind != "ConfigMap" || text_at(object, {"metadata", "name"}) != workload::inventory_name) continue;
    enabled = true;
    const auto inventory = workload::read_inventory(object);
    if (inventory)
      row.settings = inventory->settings;
    else
      row.why = inventory.error().what;
  }
  if (!enabled) return row;
  const workload::AddonState state = workload::read_addon_state(own);
  row.state = state.ready ? "ready" : "not ready";
  if (!state.ready && row.why.empty()) row.why = state.line + (state.why.empty() ? "" : ": " + state.why);
  return row;
}

std::string to_text(const std::vector<AddonRow>& rows, std::size_t width) {
  std::vector<std::vector<std::string>> lines = {{"NAME", "STATE", "SETTINGS", "WHAT IT IS"}};
  for (const AddonRow& row : rows)
    lines.push_back({std::string(row.addon->name), row.state + (row.why.empty() ? "" : ": " + row.why),
                     settings_text(row.settings), std::string(row.addon->message)});
  return report::columns(std::move(lines), width, {3});
}

Tree addon_rows_tree(const std::vector<AddonRow>& rows) {
  Tree list = Tree::list();
  for (const AddonRow& row : rows) {
    Tree settings = Tree::map();
    for (const auto& [name, value] : row.settings) settings.set(name, value);
    list.push(Tree::map_of({{"name", row.addon->name},
                            {"state", row.state},
                            {"why", row.why},
                            {"settings", std::move(settings)}}));
  }
  return Tree::map_of(
      {{"apiVersion", "gpuadm/v1alpha1"}, {"kind", "AddonList"}, {"addons", std::move(list)}});
}

Tree shown_tree(const Addon& addon, const std::vector<std::string>& images) {
  Tree settings = Tree::list();
  for (const workload::AddonSetting& setting : addon.settings)
    settings.push(Tree::map_of({{"name", setting.name},
                                {"value", setting.value},
                                {"required", setting.required},
                                {"message", setting.message}}));
  return Tree::map_of({{"name", addon.name},
                       {"message", addon.message},
                       {"namespace", addon.ns},
                       {"settings", std::move(settings)},
                       {"images", Tree::list_of(images)},
                       {"proof", addon.proof},
                       {"data", addon.data},
                       {"byHand", addon.by_hand}});
}

std::string shown_text(const Addon& addon, const std::vector<std::string>& images, std::size_t width) {
  constexpr std::size_t margin = 12;
  std::string text = fmt::format("{}: {}\n", addon.name, addon.message);
  const auto add = [&](std::string_view title, std::string_view message) {
    if (!message.empty()) text += fmt::format("  {:<10}{}\n", title, report::wrapped(message, margin, width));
  };
  add("", addon.by_hand);
  add("namespace", addon.ns);
  for (const workload::AddonSetting& setting : addon.settings)
    add("setting", fmt::format("--set {}={}: {}{}", setting.name, setting.value, setting.message,
                               setting.required ? " (required)" : ""));
  for (const std::string& image : images) add("image", image);
  add("proof", addon.proof);
  add("data", addon.data.empty() ? "" : fmt::format("{}; disable keeps it", addon.data));
  return text;
}

/// The objects of add-ons in the cluster.
Result<std::vector<Tree>> read_addons(ReachedCluster& cluster) {
  session::ClusterClient& client = cluster.client();
  auto objects = TRY(client.get({.kinds = {"configmaps", "deployments.apps", "daemonsets.apps", "pods"},
                                 .ns = {},
                                 .selector = workload::selector_of(workload::addon_kind)}));
  for (Tree& object :
       TRY(client.get({.kinds = {"storageclasses"},
                       .ns = {},
                       .selector = fmt::format("{}={}", workload::managed_by_label, workload::managed_by)})))
    objects.push_back(std::move(object));
  return objects;
}

/// Prints every add-on with its state in the cluster: without hosts, on a machine without a cluster, only
/// what can be enabled. Changes nothing.
Result<Outcome> addon_list(const AddonListOptions& options, Io& io) {
  const auto cluster = ReachedCluster::open(options.hosts, options.common, session::Access::read_only, io);
  const bool is_named = !options.hosts.file.empty() || !options.hosts.targets.empty();
  if (!cluster && (is_named || cluster.error().fault != base::Fault::usage))
    return std::unexpected(cluster.error());
  std::vector<AddonRow> rows;
  if (cluster) {
    const auto objects = TRY(read_addons(**cluster));
    for (const Addon& addon : workload::addons()) rows.push_back(row_of(addon, objects));
  } else {
    io.err(fmt::format("no cluster was read: {}\n  gpuadm addon list -f cluster.yaml shows the states\n",
                       base::printable(cluster.error().what)));
    for (const Addon& addon : workload::addons()) rows.push_back({&addon, "unknown", {}, {}});
  }
  if (options.format == Format::json)
    io.out(base::json::write(addon_rows_tree(rows)) + "\n");
  else
    io.out(to_text(rows, io.out_style.width));
  const bool bad = std::ranges::any_of(rows, [](const AddonRow& row) { return row.state == "not ready"; });
  return bad ? Outcome::failed : Outcome::done;
}

/// Prints what an add-on is: settings, images, proof, data. Connects to no host.
Result<Outcome> addon_show(const AddonShowOptions& options, Io& io) {
  const Addon* addon = TRY(workload::find_addon(options.name));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const auto known = TRY(images_of_addon(*addon, TRY(read_catalog(assets))));
  std::vector<std::string> images;
  for (const std::string_view key : addon->images) images.push_back(known.at(std::string(key)));
  if (options.format == Format::json)
    io.out(base::json::write(shown_tree(*addon, images)) + "\n");
  else
    io.out(shown_text(*addon, images, io.out_style.width));
  return Outcome::done;
}

}  // namespace

Command addon_list_command() {
  return CommandRow<AddonListOptions>{
      .name = "addon list",
      .group = Group::install,
      .summary = "List add-ons with their state in the cluster",
      .options =
          [](Line& line, AddonListOptions& options) {
            add_hosts(line, options.hosts);
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm addon list -f cluster.yaml", "all add-ons, and which ones are enabled"}},
      .run = addon_list};
}

Command addon_show_command() {
  return CommandRow<AddonShowOptions>{
      .name = "addon show",
      .group = Group::install,
      .summary = "Show an add-on: its settings, images, proof and data",
      .options =
          [](Line& line, AddonShowOptions& options) {
            line.assets(options.common.assets);
            line.argument("NAME", options.name, "Name of the add-on").required();
            add_format(line, options.format);
          },
      .examples = {{"gpuadm addon show prometheus", "its settings, images and data"}},
      .run = addon_show};
}

}  // namespace commands
