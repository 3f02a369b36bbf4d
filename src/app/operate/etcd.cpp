#include "gpuadm/app/upkeep.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/cluster/snapshot_file.hpp"
#include "gpuadm/session/ask.hpp"
#include "gpuadm/session/control_planes.hpp"

#include "app/operate/fetch_snapshot.hpp"

#include <fmt/format.h>

namespace app {

namespace {

using base::Fault;

// --- Snapshot ----------------------------------------------------------------------------------------

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

// --- Restore -----------------------------------------------------------------------------------------

/// All members need the snapshot's data, so all their hosts must be given.
Result<> may_restore(const session::ControlPlaneContext& context) {
  const auto members =
      base::to_int(TRY(session::call(context, context.hosts.front(), "inspect etcd", "etcd_members")));
  if (members && *members <= std::ssize(context.hosts)) return {};
  return base::fail(
      Fault::blocked,
      fmt::format("etcd has {} members, but {} of the given hosts are control-plane nodes",
                  members ? std::to_string(*members) : "an unknown number of", context.hosts.size()),
      "specify all control-plane nodes, or a cluster file; to remove one that is lost: gpuadm remove HOST "
      "--force");
}

/// "one=https://192.0.2.1:2380,two=https://192.0.2.2:2380": the members of the restored etcd.
Result<std::string> initial_cluster(const session::ControlPlaneContext& context) {
  std::vector<std::string> members;
  for (const std::string& host : context.hosts) {
    const std::string member = TRY(session::call(context, host, "inspect etcd", "etcd_member"));
    const std::size_t equals = member.find('=');
    const bool plain = member.find_first_of(", \t\n\"'\\") == std::string::npos;
    if (equals == std::string::npos || equals == 0 || !plain ||
        !std::string_view(member).substr(equals + 1).starts_with("http"))
      return base::fail(
          Fault::blocked, fmt::format("{}: its etcd manifest has no member name", base::printable(host)),
          "look at /etc/kubernetes/manifests/etcd.yaml: --name and --initial-advertise-peer-urls");
    members.push_back(member);
  }
  return base::join(members, ",");
}

}  // namespace

Result<Outcome> etcd_snapshot(const EtcdOptions& options, Io& io) {
  if (!options.file.empty()) TRY(base::is_new(options.file, "specify another file"));
  return session::on_control_planes(
      {options.common, options.hosts, options.consent}, "etcd-snapshot", io,
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

Result<Outcome> etcd_restore(const EtcdOptions& options, Io& io) {
  const std::string sha256 = TRY(cluster::check_snapshot(options.file));
  bundle::Bundle bundle;
  std::error_code error;
  bundle.directory = std::filesystem::absolute(options.file, error).parent_path();
  bundle::BundleFile file{.path = options.file.filename().string(), .kind = bundle::BundleKind::file};
  file.name = "snapshot";
  file.sha256 = sha256;
  bundle.files.push_back(std::move(file));
  return session::on_control_planes(
      {options.common, options.hosts, options.consent}, "etcd-restore", io,
      [&](const session::ControlPlaneContext& context) -> Result<Outcome> {
        TRY(may_restore(context));
        const base::Variables given = {{"etcd_sha256", sha256},
                                       {"etcd_cluster", TRY(initial_cluster(context))}};
        return session::with_reporter(
            context.session.folder, options.format, io, [&](report::Reporter& reporter) {
              return session::run_together(
                  context, {context.hosts, {{}, {}, {}, given}, options.consent, &bundle}, reporter, io);
            });
      });
}

Result<Outcome> etcd_defrag(const EtcdOptions& options, Io& io) {
  return session::on_control_planes(
      {options.common, options.hosts, options.consent}, "etcd-defrag", io,
      [&](const session::ControlPlaneContext& context) {
        return session::with_reporter(
            context.session.folder, options.format, io, [&](report::Reporter& reporter) {
              return session::run_one_by_one(context, {context.hosts, {}, options.consent}, reporter, io);
            });
      });
}

}  // namespace app
