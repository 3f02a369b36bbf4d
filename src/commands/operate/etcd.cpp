#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/cluster/etcd_members.hpp"
#include "gpuadm/cluster/snapshot_file.hpp"
#include "gpuadm/session/ask.hpp"
#include "gpuadm/session/control_planes.hpp"

#include "commands/operate/fetch_snapshot.hpp"
#include "commands/operate/upkeep.hpp"

#include <fmt/format.h>

namespace commands {

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

/// How much the revisions of the restored data are raised, so that no client has seen a later one: as the
/// host with the highest revision needs it, or as an interrupted restore has chosen. 0 if a host cannot raise
/// them: all members must do the same, because they would have different data otherwise.
Result<std::string> bump_of(const session::ControlPlaneContext& context, const std::string& sha256,
                            const std::string& members) {
  std::optional<long long> bump, begun;
  for (const std::string& host : context.hosts) {
    const std::string answer =
        TRY(session::call(context, host, "inspect etcd", "etcd_bumps", {sha256, members}));
    const auto words = base::words(answer);
    const auto number = base::to_int(words.empty() ? "" : words.back());
    if (!number || *number < 0)
      return base::fail(Fault::parse,
                        fmt::format("{}: the revision of etcd cannot be read", base::printable(host)),
                        "gpuadm doctor --stage cluster");
    if (words.front() == "begun") begun = *number;
    bump = !bump || *number == 0 || (*bump != 0 && *bump < *number) ? *number : *bump;
  }
  return std::to_string(begun.value_or(bump.value_or(0)));
}

constexpr const char* stale =
    "note: this etcd cannot raise revisions (snapshot restore has no --bump-revision), so programs on worker "
    "nodes may ignore changes until the cluster has reached its previous revision; on each worker node: "
    "systemctl restart kubelet; then: kubectl -n kube-system rollout restart daemonset, and restart other "
    "pods that watch the API\n";

/// Refuses a restore after which another member would keep its data.
Result<> check_members(const session::ControlPlaneContext& context, const EtcdOptions& options,
                       const std::string& members) {
  cluster::RestoreHosts restore;
  for (const std::string_view member : base::split(members, ','))
    restore.members.emplace(member.substr(0, member.find('=')));
  restore.hosts = context.hosts;
  restore.lost = context.lost;
  restore.file = options.hosts.file.string();
  if (!restore.file.empty())
    for (const spec::Host& host :
         TRY(session::read_cluster({options.hosts.file, {}}, options.common.connection)).hosts)
      if (host.role == spec::Role::control_plane) restore.in_file.push_back(host.name);
  std::vector<cluster::EtcdMembers> known;
  for (const std::string& host : context.hosts)
    known.push_back(
        TRY(cluster::read_etcd_members(TRY(session::call(context, host, "inspect etcd", "etcd_members")))));
  return cluster::may_restore(known, restore);
}

/// What is left to do about lost hosts.
std::string lost_note(const std::vector<spec::Host>& lost) {
  std::vector<std::string> names;
  for (const spec::Host& host : lost) names.push_back(base::printable(host.name));
  return fmt::format(
      "note: {} had members of etcd, and etcd has none there any more; delete the nodes: gpuadm remove HOST "
      "--force; keep the hosts shut down, because their etcd has the previous data; before one joins again, "
      "without a connection to the cluster: gpuadm reset HOST --force\n",
      base::join(names, ", "));
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

Result<Outcome> etcd_restore(const EtcdOptions& options, Io& io) {
  const std::string sha256 = TRY(cluster::check_snapshot(options.file));
  bundle::Bundle bundle;
  std::error_code error;
  bundle.directory = std::filesystem::absolute(options.file, error).parent_path();
  bundle::BundleFile file{.path = options.file.filename().string(), .kind = bundle::BundleKind::file};
  file.name = "snapshot";
  file.sha256 = sha256;
  bundle.files.push_back(std::move(file));
  auto outcome = session::on_control_planes(
      {options.common, options.hosts, options.consent, session::AbsentWorkers::left_out, options.lost},
      "etcd-restore", io, [&](const session::ControlPlaneContext& context) -> Result<Outcome> {
        const std::string members = TRY(initial_cluster(context));
        TRY(check_members(context, options, members));
        const std::string bump = TRY(bump_of(context, sha256, members));
        const base::Variables given = {
            {"etcd_sha256", sha256}, {"etcd_cluster", members}, {"etcd_bump", bump}};
        const Outcome outcome = TRY(session::with_reporter(
            context.session.folder, options.format, io, [&](report::Reporter& reporter) {
              return session::run_together(
                  context, {context.hosts, {{}, {}, {}, given}, options.consent, &bundle}, reporter, io);
            }));
        if (outcome != Outcome::done || options.consent == Consent::preview) return outcome;
        if (bump == "0") io.err(stale);
        if (!context.lost.empty()) io.err(lost_note(context.lost));
        return outcome;
      });
  if (!outcome && outcome.error().fault == Fault::unreachable)
    outcome.error().hint += std::string(outcome.error().hint.empty() ? "" : "; ") +
                            "to restore without a control-plane node that is permanently lost: --lost HOST";
  return outcome;
}

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

}  // namespace commands
