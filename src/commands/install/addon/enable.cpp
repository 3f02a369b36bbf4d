#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/install/addon/owned.hpp"
#include "commands/install/addon/prove.hpp"
#include "commands/install/addon/queues.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

struct AddonVerifyOptions {
  AddonOptions addon;
  std::chrono::seconds timeout{300};
};

using base::Fault;
using base::Tree;
using workload::ObjectName;

std::vector<Tree> references_to(const std::vector<ObjectName>& names) {
  std::vector<Tree> references;
  for (const ObjectName& name : names) references.push_back(workload::reference_to(name));
  return references;
}

/// The names of the first list that the second one has not.
std::vector<ObjectName> names_without(const std::vector<ObjectName>& names,
                                      const std::vector<ObjectName>& others) {
  std::vector<ObjectName> left;
  for (const ObjectName& name : names)
    if (std::ranges::find(others, name) == others.end()) left.push_back(name);
  return left;
}

/// Nothing of others is changed: not an object, and not a namespace. Returns the add-on's objects that are
/// there, such as a namespace that `disable` has kept because others have objects in it.
Result<std::vector<ObjectName>> check_names(const AddonPlan& plan, session::ClusterClient& client) {
  const auto existing = TRY(client.find(references_to(plan.inventory.objects)));
  const auto foreign = workload::foreign_objects(existing, *plan.addon);
  if (foreign.empty()) {
    std::vector<ObjectName> names;
    for (const Tree& object : existing) names.push_back(workload::name_of(object));
    return names;
  }
  const bool by_storage = std::ranges::any_of(existing, [](const Tree& object) {
    return text_of(object, "kind") == "StorageClass" && workload::is_managed(object);
  });
  if (plan.addon->name == "local-path" && by_storage)
    return base::fail(
        Fault::blocked,
        "the default StorageClass local-path was installed with its storage (gpuadm storage add with "
        "--default-class)",
        "gpuadm addon verify local-path");
  return base::fail(Fault::blocked,
                    fmt::format("objects of others have names of the add-on {}: {}", plan.addon->name,
                                base::join(foreign, ", ")),
                    "delete what has made them, or use it instead of the add-on");
}

/// A claim and a folder cannot be moved.
Result<> check_storage(const AddonPlan& plan, const std::optional<workload::AddonInventory>& before,
                       const AddonOptions& options) {
  if (!before) return {};
  const auto storage = [](const workload::AddonInventory& inventory) {
    const auto found = inventory.settings.find("storage");
    return found == inventory.settings.end() ? std::string() : found->second;
  };
  const std::string old = storage(*before), now = storage(plan.inventory);
  if (old == now) return {};
  const auto shown = [](const std::string& name) {
    return name.empty() ? "no storage" : "the storage " + name;
  };
  return base::fail(Fault::blocked,
                    fmt::format("the add-on {} is enabled with {}, and cannot change to {}", options.name,
                                base::printable(shown(old), 80), shown(now)),
                    addon_command("disable", options) + ", then enable it again");
}

/// What an earlier `enable` has made and the plan has no more.
Result<OwnedObjects> old_objects(const AddonPlan& plan, const std::optional<workload::AddonInventory>& before,
                                 ReachedCluster& cluster) {
  if (!before) return OwnedObjects();
  return read_owned(*plan.addon, names_without(before->objects, plan.inventory.objects), cluster);
}

/// The namespace of the add-on, which gpuadm must have created: it is recorded before and after.
Result<> create_namespace(const AddonPlan& plan, session::ClusterClient& client) {
  const auto ns_in = [](const std::vector<Tree>& found) {
    return std::ranges::find(found, "Namespace", [](const Tree& object) { return text_of(object, "kind"); });
  };
  auto found = TRY(find_namespace(*plan.addon, client));
  TRY(workload::check_namespace(found, *plan.addon));
  if (ns_in(found) == found.end())
    TRY(client.apply({workload::to_namespace_record(*plan.addon, ""), plan.objects.front()}));
  found = TRY(find_namespace(*plan.addon, client));
  const auto ns = ns_in(found);
  if (ns == found.end())
    return base::fail(Fault::remote, fmt::format("the namespace {} was deleted meanwhile", plan.addon->ns),
                      "run the same command again");
  return client.apply({workload::to_namespace_record(*plan.addon, text_at(*ns, {"metadata", "uid"}))});
}

/// What a first `enable` has made so far: all objects but those that were there.
struct Made {
  std::vector<ObjectName> existing;
  std::optional<ClaimFolder> folder;
};

/// `old`: objects of an earlier `enable` that the plan has no more.
Result<> apply(const AddonPlan& plan, const OwnedObjects& old, Made& made, session::ClusterClient& client,
               Io& io) {
  // They can also be deleted if this is interrupted.
  workload::AddonInventory all = plan.inventory;
  for (const ObjectName& name : workload::names_of(old.objects)) all.objects.push_back(name);
  if (plan.class_storage) TRY(make_class_folder(*plan.class_storage, client));
  TRY(create_namespace(plan, client));
  TRY(client.apply({workload::to_object(*plan.addon, all)}));
  if (plan.volume) {
    made.folder = TRY(make_claim_folder(*plan.volume, client));
    io.err(note_of(*plan.volume, *made.folder));
  }
  TRY(client.apply(plan.objects));
  if (old.objects.empty()) return {};
  TRY(client.remove_objects(old.objects));
  return client.apply({workload::to_object(*plan.addon, plan.inventory)});
}

/// Deletes what this run made.
void withdraw_addon(const AddonPlan& plan, const Made& made, const AddonOptions& options,
                    ReachedCluster& cluster, Io& io) {
  report_deletion("the add-on " + options.name, io);
  session::ClusterClient& client = cluster.client();
  const auto owned = read_owned(*plan.addon, names_without(plan.inventory.objects, made.existing), cluster,
                                transport::Purpose::clean_up);
  Result<> removed;
  if (!owned)
    removed = std::unexpected(owned.error());
  else
    removed = delete_owned(*plan.addon, owned->objects, client);
  if (removed) removed = forget_namespace(*plan.addon, client);
  if (removed && plan.volume && made.folder && !made.folder->existed)
    removed = remove_volume(*plan.volume, ClaimFiles::kept, client);
  if (removed && plan.class_storage)
    if (const auto dropped = drop_class_folder(*plan.class_storage, client); !dropped)
      removed = std::unexpected(dropped.error());
  if (removed)
    io.err(fmt::format("deleted what was created of the add-on {}\n", options.name));
  else
    io.err(fmt::format("cannot delete what was created: {}\n  {}\n", base::printable(removed.error().what),
                       addon_command("disable", options)));
}

Result<Outcome> print_objects(const AddonPlan& plan, const Io& io) {
  for (const auto* list : {&plan.objects, &plan.queues})
    for (const Tree& object : *list) io.out("---\n" + base::yaml::write(object));
  return Outcome::done;
}

/// Applies the objects of an add-on, waits until its pods are ready, and proves that it works. Repeated, it
/// changes settings, and deletes objects that are no longer needed, after a question. If a first `enable`
/// fails, or after Ctrl-C, deletes what it made. Fault::blocked, with nothing changed, if an object or the
/// namespace belongs to others.
Result<Outcome> addon_enable(const AddonEnableOptions& options, Io& io) {
  const workload::Addon* addon = TRY(workload::find_installable_addon(options.addon.name));
  const auto settings = TRY(workload::parse_addon_settings(*addon, options.settings));
  const auto cluster =
      TRY(ReachedCluster::open(options.addon.hosts, options.addon.common,
                               options.yaml ? session::Access::read_only : session::Access::full, io));
  session::ClusterClient& client = cluster->client();
  const auto before = TRY(read_addon(*addon, client));
  const AddonPlan plan = TRY(plan_addon(options, settings, *cluster));
  if (options.yaml) return print_objects(plan, io);
  TRY(check_storage(plan, before, options.addon));
  Made made{.existing = TRY(check_names(plan, client)), .folder = {}};
  TRY(workload::check_namespace(TRY(find_namespace(*addon, client)), *addon));
  const OwnedObjects old = TRY(old_objects(plan, before, *cluster));
  if (!TRY(confirm_deletion(*addon, old, options.consent, io))) return Outcome::interrupted;
  for (const std::string& note : plan.notes) io.err(note + "\n");
  const auto seen = [&]() -> Result<std::string> {
    TRY(apply(plan, old, made, client, io));
    TRY(wait_addon(*addon, *cluster, options.timeout, io));
    if (!plan.queues.empty()) TRY(enable_queues(*cluster, options.timeout, io));
    return prove_addon(*addon, *cluster, options.timeout, io);
  }();
  if (!seen) {
    if (!before && (!options.keep || seen.error().fault == Fault::interrupted))
      withdraw_addon(plan, made, options.addon, *cluster, io);
    return std::unexpected(seen.error());
  }
  io.out(fmt::format("the add-on {} is enabled\n  proven: {}\n", addon->name, *seen));
  return Outcome::done;
}

/// Repeats the proof of an add-on that is enabled.
Result<Outcome> addon_verify(const AddonVerifyOptions& options, Io& io) {
  const workload::Addon* addon = TRY(workload::find_installable_addon(options.addon.name));
  const auto cluster =
      TRY(ReachedCluster::open(options.addon.hosts, options.addon.common, session::Access::full, io));
  const auto inventory = TRY(read_addon(*addon, cluster->client()));
  // The default StorageClass may have been installed with its storage.
  const bool elsewhere =
      !inventory && addon->name == "local-path" &&
      !TRY(cluster->client().find(
               {workload::reference_to({"storage.k8s.io/v1", "StorageClass", "", "local-path"})}))
           .empty();
  if (!inventory && !elsewhere)
    return base::fail(Fault::blocked, fmt::format("the add-on {} is not enabled", addon->name),
                      addon_command("enable", options.addon));
  if (inventory) TRY(wait_addon(*addon, *cluster, options.timeout, io));
  const std::string seen = TRY(prove_addon(*addon, *cluster, options.timeout, io));
  io.out(fmt::format("the add-on {} works\n  proven: {}\n", addon->name, seen));
  return Outcome::done;
}

}  // namespace

void add_addon(Line& line, AddonOptions& options) {
  line.argument("NAME", options.name, "Name of the add-on (gpuadm addon list)").required();
  add_hosts(line, options.hosts);
  add_connection(line, options.common);
}

Command addon_enable_command() {
  return CommandRow<AddonEnableOptions>{
      .name = "addon enable",
      .group = Group::install,
      .summary = "Install an add-on, and prove that it works",
      .options =
          [](Line& line, AddonEnableOptions& options) {
            add_addon(line, options.addon);
            line.repeated("--set", options.settings, "SETTING=VALUE",
                          "A setting of the add-on (gpuadm addon show NAME); repeatable");
            add_wait_timeout(line, options.timeout,
                             "Time limit until its pods are ready, and of its proof (default 900)");
            line.flag("--keep", options.keep, "Keep an add-on whose proof fails");
            add_yes(line, options.consent);
            line.choice<bool, bool>("-o,--output", options.yaml, {{"text", false}, {"yaml", true}},
                                    "yaml: print the objects instead of applying them");
          },
      .examples = {{"gpuadm addon enable metrics-server -f cluster.yaml", "for kubectl top"},
                   {"gpuadm addon enable prometheus -f cluster.yaml --set storage=data --set retention=30d",
                    "with its metrics on a storage"},
                   {"gpuadm addon enable jupyterhub -f cluster.yaml --set users=users.txt --set "
                    "storage=data",
                    "notebooks for the users of a file"}},
      .run = addon_enable};
}

Command addon_verify_command() {
  return CommandRow<AddonVerifyOptions>{
      .name = "addon verify",
      .group = Group::install,
      .summary = "Repeat the proof of an add-on that is enabled",
      .options =
          [](Line& line, AddonVerifyOptions& options) {
            add_addon(line, options.addon);
            add_wait_timeout(line, options.timeout, "Time limit of the proof (default 300)");
          },
      .examples = {{"gpuadm addon verify prometheus -f cluster.yaml", "repeat its proof"}},
      .run = addon_verify};
}

}  // namespace commands
