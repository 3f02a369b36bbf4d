#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/cluster/etcd_members.hpp"
#include "gpuadm/cluster/snapshot_file.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/operate/fetch_snapshot.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

struct EtcdOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path file;  ///< snapshot: the new file; empty: named by the time
  Consent consent = Consent::ask;
  Format format = Format::text;
};

using base::Fault;

/// Removes the snapshot of this run from the host, also after Ctrl-C: it contains the cluster's secrets.
Result<> remove_copy(const session::ControlPlaneContext& context, const std::string& host,
                     const std::string& id) {
  transport::Command command;
  command.label = "remove the snapshot from the host";
  command.script = context.library.prelude() + "\netcd_snapshot_remove " + base::quote(id) + "\n";
  command.effect = transport::Effect::changes;
  command.purpose = transport::Purpose::clean_up;
  const transport::Exit exit = TRY(session::ask(host, std::move(command), *context.session.fleet));
  if (exit.status == 0) return {};
  return base::fail(Fault::remote, base::tail(exit.err, 3));
}

Result<cluster::Snapshot> take_snapshot(const session::ControlPlaneContext& context,
                                        const std::filesystem::path& file, report::Reporter& reporter,
                                        Io& io) {
  const std::string id = base::stamp(base::now());
  const std::string& host = context.hosts.front();
  const auto phase = [&](const char* name) {
    return session::run_one_by_one(context, {{host}, {{name}, {}, {}, {{"etcd_id", id}}}, Consent::given},
                                   reporter, io);
  };
  const std::string folder = TRY(session::call(context, host, "find the folder", "etcd_folder"));
  // Of a run that another one blocks, nothing is on the host.
  const Outcome made = TRY(phase("etcd/snapshot"));
  auto snapshot = [&]() -> Result<cluster::Snapshot> {
    if (made == Outcome::interrupted) return base::fail(Fault::interrupted, "interrupted");
    if (made != Outcome::done)
      return base::fail(Fault::remote, "etcd created no snapshot", "gpuadm doctor --stage cluster");
    const cluster::Snapshot there = TRY(cluster::read_snapshot(
        TRY(session::call(context, host, "check the snapshot", "etcd_verified", {id}))));
    TRY(fetch_snapshot(host, folder + "/snapshot-" + id + ".db", there, file, *context.session.fleet,
                       context.assets));
    return there;
  }();
  if (snapshot)
    if (const auto cleaned = phase("etcd/clean"); cleaned && *cleaned == Outcome::done) return snapshot;
  const auto removed = remove_copy(context, host, id);
  if (removed) return snapshot;
  base::Error error =
      snapshot ? base::Error{Fault::remote, fmt::format("the snapshot is in {}", file.string()), {}}
               : snapshot.error();
  error.what += fmt::format("; a copy remains on {}: {}", host, base::printable(removed.error().what, 300));
  error.hint =
      fmt::format("it contains the cluster's secrets; on {}: rm -rf {}/snapshot-{}*", host, folder, id);
  return std::unexpected(std::move(error));
}

void report_snapshot(const cluster::Snapshot& snapshot, const std::filesystem::path& file, Format format,
                     Io& io) {
  if (format == Format::json) {
    io.out(base::json::write(base::Tree::map_of({{"file", file.string()},
                                                 {"sha256", snapshot.sha256},
                                                 {"size", static_cast<std::int64_t>(snapshot.size)},
                                                 {"hash", static_cast<std::int64_t>(snapshot.hash)},
                                                 {"revision", static_cast<std::int64_t>(snapshot.revision)},
                                                 {"keys", static_cast<std::int64_t>(snapshot.keys)}})) +
           "\n");
    return;
  }
  io.out(fmt::format("{}: {}, revision {}, {} keys, hash {:08x}, sha256 {}\n", file.string(),
                     base::human_bytes(snapshot.size), snapshot.revision, snapshot.keys, snapshot.hash,
                     snapshot.sha256));
  io.err("it contains the cluster's secrets: protect it from other users\n");
}

/// Saves a verified snapshot of the first control-plane node's etcd to a local file (0600), with its SHA-256
/// in a second file.
Result<Outcome> etcd_snapshot(const EtcdOptions& options, Io& io) {
  if (!options.file.empty()) TRY(base::is_new(options.file, "specify another file"));
  return session::on_control_planes(
      {options.common, options.hosts, options.consent, session::AbsentWorkers::left_out}, "etcd-snapshot", io,
      [&](const session::ControlPlaneContext& context) -> Result<Outcome> {
        const std::filesystem::path file = options.file.empty()
                                               ? base::state_directory() / context.cluster.name /
                                                     fmt::format("etcd-{}.db", base::stamp(base::now()))
                                               : options.file;
        // Progress is reported separately from the result.
        Io beside = io;
        beside.out = options.format == Format::text ? io.err : [](std::string_view) {};
        beside.out_style = io.err_style;
        std::optional<cluster::Snapshot> snapshot;
        const Outcome outcome = TRY(session::with_reporter(
            context.session.folder, Format::text, beside, [&](report::Reporter& reporter) -> Result<Outcome> {
              snapshot = TRY(take_snapshot(context, file, reporter, beside));
              return Outcome::done;
            }));
        if (snapshot) report_snapshot(*snapshot, file, options.format, io);
        return outcome;
      });
}

/// Defragments etcd, one member after the other.
Result<Outcome> etcd_defrag(const EtcdOptions& options, Io& io) {
  return session::on_control_planes(
      {options.common, options.hosts, options.consent, session::AbsentWorkers::left_out}, "etcd-defrag", io,
      [&](const session::ControlPlaneContext& context) {
        return session::with_reporter(
            context.session.folder, options.format, io, [&](report::Reporter& reporter) {
              return session::run_one_by_one(context, {context.hosts, {}, options.consent}, reporter, io);
            });
      });
}

}  // namespace

Command etcd_snapshot_command() {
  return CommandRow<EtcdOptions>{
      .name = "etcd snapshot",
      .group = Group::operate,
      .summary = "Save a snapshot to a local file",
      .options =
          [](Line& line, EtcdOptions& options) {
            line.value("--to", options.file, "FILE", "File to create; must not exist");
            add_hosts(line, options.hosts);
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm etcd snapshot -f cluster.yaml --to etcd.db", "to a local file"}},
      .run = etcd_snapshot};
}

Command etcd_defrag_command() {
  return CommandRow<EtcdOptions>{.name = "etcd defrag",
                                 .group = Group::operate,
                                 .summary = "Defragment etcd, one member at a time",
                                 .options = add_change<EtcdOptions>,
                                 .examples = {{"gpuadm etcd defrag -f cluster.yaml", "one member at a time"}},
                                 .run = etcd_defrag};
}

}  // namespace commands
