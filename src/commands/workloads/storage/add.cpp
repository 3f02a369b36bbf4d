#include "commands/workloads/storage/add.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/spec/storage.hpp"

#include "commands/shared_options.hpp"
#include "commands/workloads/storage/common.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

/// The options as keys of the cluster file, which validates them.
Result<spec::Storage> asked(const StorageAddOptions& options) {
  Tree values = Tree::map_of({{"name", options.name}, {"kind", options.kind}});
  const auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) values.set(key, value);
  };
  set("host", options.host);
  set("path", options.path);
  set("server", options.server);
  set("export", options.exported);
  if (!options.monitors.empty()) values.set("monitors", Tree::list_of(options.monitors));
  set("user", options.user);
  // The file may be used from another directory later.
  if (!options.key_file.empty()) set("keyFile", std::filesystem::absolute(options.key_file).string());
  set("options", options.mount_options);
  if (options.default_class) values.set("defaultClass", true);
  spec::Storage storage = TRY(spec::read_storage(values));
  if (storage.kind == spec::StorageKind::cephfs && storage.key_file.empty())
    return base::fail(Fault::usage, "the storage needs the key of its user",
                      "add --key-file FILE, mode 0600");
  return storage;
}

/// With the new storage. One with the same settings is accepted, so that an interrupted command can be
/// repeated.
Result<> add(spec::Cluster& cluster, const spec::Storage& storage) {
  const auto same = std::ranges::find(cluster.storage, storage.name, &spec::Storage::name);
  if (same == cluster.storage.end()) {
    cluster.storage.push_back(storage);
  } else {
    spec::Storage as_written = storage;
    if (same->key_file.empty()) as_written.key_file.clear();
    if (spec::to_tree(*same) != spec::to_tree(as_written))
      return base::fail(Fault::usage,
                        fmt::format("the cluster has a storage named {} with other settings: {} {}",
                                    storage.name, spec::row_of(same->kind).name, spec::source_of(*same)),
                        "choose another name, or remove that one: gpuadm storage remove " + storage.name);
    same->key_file = storage.key_file;
  }
  if (storage.kind != spec::StorageKind::local) return {};
  std::vector<std::string> names;
  for (const spec::Host& host : cluster.hosts) names.push_back(host.name);
  if (std::ranges::find(names, storage.host) != names.end()) return {};
  return base::fail(Fault::usage, fmt::format("--host {}: not one of the hosts", storage.host),
                    "hosts: " + base::join(names, ", "));
}

/// Every node needs the storage, because a pod may run on any.
Result<> check_nodes(const spec::Cluster& cluster, const session::Survey& survey, transport::Fleet& fleet,
                     const assets::Store& assets) {
  session::ClusterClient client = TRY(session::ClusterClient::open(cluster, fleet, assets));
  std::vector<std::string> ids;
  for (const auto& [host, facts] : survey.census)
    if (facts) ids.push_back(facts->machine.id);
  const auto missing = workload::nodes_without(ids, TRY(client.get({{"nodes"}, {}, {}})));
  if (missing.empty()) return {};
  return base::fail(Fault::usage,
                    fmt::format("the cluster has nodes that are not among the hosts: {}",
                                base::printable(base::join(missing, ", "), 500)),
                    "name all hosts of the cluster, or use its cluster file: -f FILE");
}

/// The operator's cluster file, and how it is to be; equal: it has the storage.
struct FileChange {
  std::string before, after;
};

Result<FileChange> change_of_file(const StorageAddOptions& options, const spec::Storage& storage, Io& io) {
  FileChange change;
  if (options.hosts.file.empty()) return change;
  const std::string source = options.hosts.file.string();
  change.before = change.after = TRY(base::read_file(options.hosts.file, 1u << 20));
  if (spec::find_storage(TRY(spec::parse(change.before, source)), storage.name)) return change;
  change.after = TRY(spec::with_storage(change.before, source, storage));
  if (options.format == Format::text)
    io.out(base::printable(base::unified_diff(change.before, change.after, source, source), 1u << 20));
  return change;
}

/// Undoes an incomplete add on all hosts: a run of its own, after the one that failed. A control-plane node
/// on which nothing failed has stored the new cluster file; `stored`: the one before.
void withdraw(const StorageAddOptions& options, const StorageSource& source, const spec::Storage& storage,
              const std::optional<spec::Cluster>& stored, const assets::Store& assets, Io& io) {
  spec::Cluster with = source.cluster;
  with.storage = {storage};
  Io quiet = io;
  if (options.format == Format::json) quiet.out = [](std::string_view) {};
  const auto undo = [&]() -> Result<Outcome> {
    const playbook::Library library = TRY(playbook::Library::load(assets, "storage-withdraw"));
    const session::RunContext session =
        TRY(session::RunContext::open(with, options.common.connection, Consent::given, quiet));
    const session::Survey survey = TRY(session.survey_all(assets));
    return execute(
        {with, session, survey, assets, Consent::given, options.format},
        [&](const facts::Census& census) -> Result<plan::Plan> {
          return with_stored_file(TRY(plan::make(with, {}, census, library, nullptr, {})), stored, census,
                                  assets);
        },
        quiet);
  };
  const auto undone = undo();
  if (undone && *undone == Outcome::done) return;
  io.err(fmt::format("the storage {} could not be removed from all hosts{}\n", storage.name,
                     undone ? "" : ": " + base::printable(undone.error().what)));
}

void show_next(const StorageAddOptions& options, Io& io) {
  if (options.format != Format::text || io.out_style.verbosity == report::Verbosity::quiet) return;
  const std::string rest = session::typed(options.hosts, options.common.connection);
  io.out(fmt::format("\n  for a pod: gpuadm storage claim NAME --size 10Gi --on {}{}\n", options.name, rest));
}

}  // namespace

Result<Outcome> storage_add(const StorageAddOptions& options, Io& io) {
  const spec::Storage storage = TRY(asked(options));
  TRY(check_all_hosts(options.hosts));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const playbook::Library library = TRY(playbook::Library::load(assets, "storage-add"));
  spec::Cluster hosts = TRY(session::read_cluster(options.hosts, options.common.connection));
  if (!options.hosts.file.empty()) TRY(add(hosts, storage));
  spec::Cluster keys;  // a key file that cannot be read is reported before hosts are contacted
  keys.storage = {storage};
  TRY(session::read_storage_keys(keys));
  const FileChange file = TRY(change_of_file(options, storage, io));
  const session::RunContext session =
      TRY(session::RunContext::open(hosts, options.common.connection, options.consent, io));
  const session::Survey survey = TRY(session.survey_all(assets));
  const spec::Host* first = playbook::first_control_plane(hosts, survey.census);
  if (!first || !facts::is_control_plane(survey.census, first->name))
    return base::fail(Fault::blocked, "no control-plane node of a cluster is among the hosts",
                      "create the cluster first: gpuadm init, or gpuadm apply -f FILE with `storage:` in it");
  StorageSource source = TRY(read_storages(options.hosts, hosts, first->name, *session.fleet, assets));
  // What the cluster had before stays after a failure.
  const bool is_known = (!file.before.empty() && file.after == file.before) ||
                        (source.stored && spec::find_storage(*source.stored, storage.name));
  const std::optional<spec::Cluster> stored = source.stored;
  TRY(add(source.cluster, storage));
  if (source.stored) TRY(add(*source.stored, storage));
  TRY(session::resolve_environment(source.cluster, assets));
  TRY(session::read_storage_keys(source.cluster));
  TRY(check_nodes(source.cluster, survey, *session.fleet, assets));
  TRY(session.folder.save("cluster.yaml", spec::to_tree(source.cluster)));

  const auto plan_of = [&](const facts::Census& census) -> Result<plan::Plan> {
    return with_stored_file(TRY(plan::make(source.cluster, {}, census, library, nullptr, {})), source.stored,
                            census, assets);
  };
  const Outcome outcome =
      TRY(execute({source.cluster, session, survey, assets, options.consent, options.format}, plan_of, io));
  if (outcome == Outcome::failed && options.consent != Consent::preview && !is_known)
    withdraw(options, source, storage, stored, assets, io);
  if (outcome != Outcome::done || options.consent == Consent::preview) return outcome;
  if (file.after != file.before) TRY(write_cluster_file(options.hosts.file, file.before, file.after));
  show_next(options, io);
  return outcome;
}

Command storage_add_command() {
  return CommandRow<StorageAddOptions>{
      .name = "storage add",
      .group = Group::workloads,
      .summary = "Mount a storage on every host of the cluster",
      .options =
          [](Line& line, StorageAddOptions& options) {
            line.argument("NAME", options.name, "Name of the storage").required();
            line.argument("KIND", options.kind,
                          "local: a folder on one host; path: a folder that every host has, on a share "
                          "that you mount; nfs; cephfs")
                .required()
                .one_of({"local", "path", "nfs", "cephfs"});
            add_hosts(line, options.hosts);
            line.value("--host", options.host, "HOST", "local: the host with the folder");
            line.value("--path", options.path, "PATH",
                       "local, path: folder on hosts; cephfs: folder in the file system");
            line.value("--server", options.server, "ADDRESS", "nfs: address of the server");
            line.value("--export", options.exported, "PATH", "nfs: path that the server exports");
            line.list("--monitors", options.monitors, "HOST[:PORT],...", "cephfs: addresses of the monitors");
            line.value("--ceph-user", options.user, "NAME", "cephfs: user, without client.");
            line.value("--key-file", options.key_file, "FILE",
                       "cephfs: file with the key or the keyring of the user, mode 0600");
            line.value("--options", options.mount_options, "OPTIONS",
                       "nfs, cephfs: mount options, separated by commas");
            line.flag("--default-class", options.default_class,
                      "local: make local-path the default StorageClass, with its volumes on this storage");
            add_consent(line, options.consent);
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm storage add data nfs --server nas.lab --export /export/ml -f cluster.yaml",
                    "an NFS export"},
                   {"gpuadm storage add scratch local --host gpu1 --path /data -f cluster.yaml",
                    "a folder on one host"},
                   {"gpuadm storage add team cephfs --monitors 10.0.0.1,10.0.0.2 --path /ml --ceph-user ml "
                    "--key-file ml.key -f cluster.yaml",
                    "a folder of CephFS"}},
      .run = storage_add};
}

}  // namespace commands
