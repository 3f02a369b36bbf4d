#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/etcd_members.hpp"
#include "gpuadm/cluster/snapshot_file.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/shared_options.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;

struct EtcdRestoreOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path file;     ///< the snapshot
  std::vector<std::string> lost;  ///< hosts of members that are left out
  Consent consent = Consent::ask;
  Format format = Format::text;
};

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
Result<> check_members(const session::ControlPlaneContext& context, const EtcdRestoreOptions& options,
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

/// Restores etcd on all control-plane nodes from a snapshot. Fault::blocked, before anything is changed, for
/// a damaged file, and if another member would keep its data.
Result<Outcome> etcd_restore(const EtcdRestoreOptions& options, Io& io) {
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

}  // namespace

Command etcd_restore_command() {
  return CommandRow<EtcdRestoreOptions>{
      .name = "etcd restore",
      .group = Group::operate,
      .summary = "Restore the cluster state from a snapshot",
      .options =
          [](Line& line, EtcdRestoreOptions& options) {
            line.argument("SNAPSHOT", options.file, "Local etcd snapshot").required();
            line.list("--lost", options.lost, "HOST,...",
                      "Control-plane nodes that are permanently lost, and left out");
            add_change(line, options);
          },
      .examples = {{"gpuadm etcd restore etcd.db -f cluster.yaml", "asks for confirmation"},
                   {"gpuadm etcd restore etcd.db -f cluster.yaml --lost cp2 --lost cp3",
                    "two of three are lost"}},
      .run = etcd_restore};
}

}  // namespace commands
