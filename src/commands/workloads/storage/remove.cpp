#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/spec/storage.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/shared_options.hpp"
#include "commands/workloads/storage/common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace commands {

namespace {

struct StorageRemoveOptions {
  Common common;
  Hosts hosts;
  std::string name;
  bool purge = false;  ///< delete claims and their files, too; asks twice
  Consent consent = Consent::ask;
  Format format = Format::text;
};

using base::Fault;
using workload::ClaimOnStorage;

std::string names_of(const std::vector<ClaimOnStorage>& claims) {
  std::vector<std::string> names;
  for (const ClaimOnStorage& claim : claims) names.push_back(claim.full());
  return base::printable(base::join(names, ", "), 1000);
}

/// Claims block the removal, unless they are to be deleted; pods that use them always do.
Result<> check_claims(session::ClusterClient& client, const std::vector<ClaimOnStorage>& claims,
                      const StorageRemoveOptions& options) {
  if (claims.empty()) return {};
  if (!options.purge)
    return base::fail(
        Fault::blocked, fmt::format("the storage {} has claims: {}", options.name, names_of(claims)),
        fmt::format("delete them, their files stay: kubectl -n {} delete pvc {}; to delete all claims "
                    "and their files: --purge",
                    claims.front().ns, claims.front().name));
  const auto pods = TRY(client.get({{"pods"}, {}, {}}));
  std::vector<std::string> users;
  for (const ClaimOnStorage& claim : claims)
    for (const std::string& pod : workload::pods_with(pods, claim)) users.push_back(pod);
  if (users.empty()) return {};
  return base::fail(Fault::blocked,
                    fmt::format("pods use claims of the storage {}: {}", options.name,
                                base::printable(base::join(users, ", "), 1000)),
                    "delete the pods, or what has made them, then run again");
}

/// Claims of the default StorageClass, whose volumes are on the storage, always block its removal.
Result<> check_class_claims(session::ClusterClient& client, const spec::Storage& storage) {
  if (!storage.default_class) return {};
  constexpr std::string_view default_class = "local-path";  // templates/local-path.yaml
  std::vector<std::string> names;
  std::string first;
  for (const base::Tree& claim : TRY(client.get({{"persistentvolumeclaims"}, {}, {}}))) {
    if (text_at(claim, {"spec", "storageClassName"}) != default_class) continue;
    const std::string ns = text_at(claim, {"metadata", "namespace"}),
                      name = text_at(claim, {"metadata", "name"});
    if (names.empty()) first = fmt::format("-n {} delete pvc {}", ns, name);
    names.push_back(ns + "/" + name);
  }
  if (names.empty()) return {};
  return base::fail(Fault::blocked,
                    fmt::format("claims use the StorageClass {} of the storage {}: {}", default_class,
                                storage.name, base::printable(base::join(names, ", "), 1000)),
                    "delete them, and their files with them: kubectl " + base::printable(first, 200));
}

/// The add-on local-path, whose volumes are on the storage, blocks its removal.
Result<> check_class_addon(session::ClusterClient& client, const std::string& storage) {
  const auto classes = TRY(client.get({{"storageclasses"},
                                       {},
                                       fmt::format("{}={},{}={}", workload::managed_by_label,
                                                   workload::managed_by, workload::storage_label, storage)}));
  if (classes.empty()) return {};
  return base::fail(Fault::blocked, fmt::format("the add-on local-path uses the storage {}", storage),
                    "gpuadm addon disable local-path");
}

/// Asks twice. -y answers both.
Result<bool> is_confirmed(const spec::Storage& storage, const std::vector<ClaimOnStorage>& claims,
                          const StorageRemoveOptions& options, Io& io) {
  if (!options.purge || options.consent != Consent::ask) return true;
  const std::string what =
      fmt::format("{} and {} claim{}{}", spec::marker_of(storage), claims.size(),
                  claims.size() == 1 ? "" : "s", claims.empty() ? "" : " (" + names_of(claims) + ")");
  for (const std::string& question :
       {fmt::format("Delete {}?", what),
        fmt::format("The files on {} cannot be restored. Delete them?", spec::source_of(storage))}) {
    const std::optional<bool> yes = io.confirm ? io.confirm(question) : std::nullopt;
    if (!yes)
      return base::fail(Fault::usage, "no terminal to ask for confirmation",
                        "use -y to confirm, or --dry-run to preview");
    if (!*yes) return false;
  }
  return true;
}

Result<> delete_objects(session::ClusterClient& client, const std::string& storage,
                        const std::vector<ClaimOnStorage>& claims) {
  const std::string selector = fmt::format("{}={},{}={}", workload::managed_by_label, workload::managed_by,
                                           workload::storage_label, storage);
  std::set<std::string> spaces;
  for (const ClaimOnStorage& claim : claims) spaces.insert(claim.ns);
  for (const std::string& ns : spaces) TRY(client.remove(ns, {"persistentvolumeclaims"}, selector));
  TRY(client.remove("default", {"persistentvolumes"}, selector));
  return {};
}

/// The hosts without the storage, then the cluster file on the control plane without it.
Result<plan::Plan> plan_of(const StorageSource& source, const spec::Storage& storage,
                           const facts::Census& census, const assets::Store& assets,
                           const StorageRemoveOptions& options) {
  spec::Cluster with = source.cluster;
  with.storage = {storage};
  std::optional<spec::Cluster> stored = source.stored;
  if (stored)
    std::erase_if(stored->storage, [&](const spec::Storage& one) { return one.name == storage.name; });
  const auto unmount =
      TRY(playbook::Library::load(assets, options.purge ? "storage-purge" : "storage-remove"));
  return with_stored_file(TRY(plan::make(with, {}, census, unmount, nullptr, {})), stored, census, assets);
}

/// Calls a function of playbooks/storage-marker.sh on the host that purges the storage. storage_purge_may
/// refuses if another cluster uses the storage's folder, or if that is unknown; storage_purge_begin also
/// refuses new claims and pods from then on, until storage_purge_end or the deletion of the folder.
Result<> on_purging_host(const char* function, transport::Effect effect, const plan::Plan& plan,
                         transport::Fleet& fleet) {
  for (const plan::Stage& stage : plan.stages)
    for (const plan::Walk& walk : stage.walks)
      for (const plan::Action& action : walk.actions) {
        if (action.id != "storage.purge") continue;
        const transport::Exit exit =
            TRY(session::ask(walk.host,
                             {.label = "prepare the removal of the storage",
                              .script = plan.prelude + "\n" + base::assignments(action.variables) +
                                        "storage_each " + function + "\n",
                              .effect = effect,
                              .timeout = action.timeout},
                             fleet));
        if (exit.status != 0)
          return base::fail(Fault::blocked,
                            fmt::format("{}: {}", base::printable(walk.host), base::tail(exit.err, 3)));
      }
  return {};
}

/// Claims and pods once more, now that the hosts are locked and no claim is made, then the deletion of the
/// claims: a question may have been open for hours.
struct Emptying {
  session::ClusterClient& client;
  const StorageRemoveOptions& options;
  const spec::Storage& storage;
  const std::vector<ClaimOnStorage>& confirmed;
  const plan::Plan& plan;
  transport::Fleet& fleet;

  [[nodiscard]] Result<> check_and_delete() const {
    const auto claims = TRY(read_claims(client, options.name));
    TRY(check_claims(client, claims, options));
    TRY(check_class_claims(client, storage));
    TRY(check_class_addon(client, options.name));
    for (const ClaimOnStorage& claim : claims)
      if (std::ranges::find(confirmed, claim.full(), &ClaimOnStorage::full) == confirmed.end())
        return base::fail(
            Fault::blocked,
            fmt::format("the storage {} has a claim that it did not have when you were asked: {}",
                        options.name, base::printable(claim.full(), 300)),
            "run again");
    return options.purge ? delete_objects(client, options.name, claims) : Result<>();
  }
  [[nodiscard]] Result<> run() const {
    if (!options.purge) return check_and_delete();
    TRY(on_purging_host("storage_purge_begin", transport::Effect::changes, plan, fleet));
    auto done = check_and_delete();
    if (done) return done;
    if (const auto ended = on_purging_host("storage_purge_end", transport::Effect::changes, plan, fleet);
        !ended)
      return base::fail(done.error().fault, done.error().what + "; " + ended.error().what, done.error().hint);
    return done;
  }
};

struct RemovalFromFile {
  std::string before, after;
};

/// The operator's cluster file without the storage; shows what changes.
Result<RemovalFromFile> change_of_file(const StorageRemoveOptions& options, const std::string& before,
                                       Io& io) {
  if (options.hosts.file.empty()) return RemovalFromFile{};
  const std::string source = options.hosts.file.string();
  RemovalFromFile change{.before = before, .after = {}};
  change.after = TRY(spec::without_storage(before, source, options.name));
  if (options.format == Format::text)
    io.out(base::printable(base::unified_diff(change.before, change.after, source, source), 1u << 20));
  return change;
}

void show_rest(const StorageRemoveOptions& options, const spec::Storage& storage, Io& io) {
  if (options.format != Format::text) return;
  if (options.purge)
    io.out(fmt::format("the files of gpuadm on {} were deleted\n", spec::source_of(storage)));
  else
    io.out(fmt::format("the data stays: {}/gpuadm-{}\n", spec::source_of(storage), storage.name));
}

/// Unmounts a storage on every host, and removes it from the cluster file. Outcome::blocked while claims
/// exist, unless they are to be deleted. The data stays, unless it is purged.
Result<Outcome> storage_remove(const StorageRemoveOptions& options, Io& io) {
  TRY(check_all_hosts(options.hosts));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster hosts = TRY(session::read_cluster(options.hosts, options.common.connection));
  const session::RunContext session =
      TRY(session::RunContext::open(hosts, options.common.connection, options.consent, io));
  const session::Survey survey = TRY(session.survey_all(assets));
  session::ClusterClient client = TRY(session::ClusterClient::open(hosts, *session.fleet, assets));
  const StorageSource source =
      TRY(read_storages(options.hosts, hosts, client.host(), *session.fleet, assets));
  const spec::Cluster& cluster = source.cluster;
  const spec::Storage storage = TRY(storage_named(cluster, options.name));
  const auto claims = TRY(read_claims(client, options.name));
  TRY(check_claims(client, claims, options));
  TRY(check_class_claims(client, storage));
  TRY(check_class_addon(client, options.name));
  const plan::Plan plan = TRY(plan_of(source, storage, survey.census, assets, options));
  if (options.purge)
    TRY(on_purging_host("storage_purge_may", transport::Effect::reads, plan, *session.fleet));
  const RemovalFromFile file = TRY(change_of_file(options, source.file, io));
  if (!TRY(is_confirmed(storage, claims, options, io))) {
    io.out("nothing was changed\n");
    return Outcome::interrupted;
  }

  const Emptying emptying{client, options, storage, claims, plan, *session.fleet};
  bool emptied = false;
  // Both questions about the data were answered.
  const bool answered = options.purge && options.consent == Consent::ask;
  const Outcome outcome = TRY(execute(
      {cluster, session, survey, assets, answered ? Consent::given : options.consent, options.format,
       [&] {
         emptied = true;
         return emptying.run();
       }},
      [&](const facts::Census& census) { return plan_of(source, storage, census, assets, options); }, io));
  if (outcome != Outcome::done || options.consent == Consent::preview) return outcome;
  if (!emptied) TRY(emptying.check_and_delete());  // nothing to do on hosts
  // Volumes whose claims were deleted earlier.
  if (!options.purge) TRY(delete_objects(client, options.name, {}));
  if (file.after != file.before) TRY(write_cluster_file(options.hosts.file, file.before, file.after));
  show_rest(options, storage, io);
  return outcome;
}

}  // namespace

Command storage_remove_command() {
  return CommandRow<StorageRemoveOptions>{
      .name = "storage remove",
      .group = Group::workloads,
      .summary = "Unmount a storage on every host; its data stays",
      .options =
          [](Line& line, StorageRemoveOptions& options) {
            line.argument("NAME", options.name, "Name of the storage").required();
            add_hosts(line, options.hosts);
            line.flag("--purge", options.purge, "Delete its claims and their files, too; asks twice");
            add_consent(line, options.consent);
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm storage remove data -f cluster.yaml", "the data stays"},
                   {"gpuadm storage remove data --purge -f cluster.yaml", "claims and their files, too"}},
      .run = storage_remove};
}

}  // namespace commands
