#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/gpu_rows.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/report/refusal.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"

#include "commands/install/identity.hpp"
#include "commands/operate/gpu/gpu_options.hpp"
#include "commands/operate/gpu/gpu_plan.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace commands {

namespace {

/// A change of the GPU settings of one host.
enum class GpuChange { share, mig, reset };

struct GpuChangeOptions {
  Common common;
  std::filesystem::path file;  ///< the cluster file; empty: the host is the whole cluster
  std::string host;            ///< a name in the file, or a target; empty: this machine
  std::string how;             ///< share: "exclusive", a number, "mps:N"; mig: "off" or "PROFILE,…"
  Consent consent = Consent::ask;
  Format format = Format::text;
};

using base::Fault;

constexpr const char* playbook_of(GpuChange change) {
  switch (change) {
    case GpuChange::share:
      return "gpu-share";
    case GpuChange::mig:
      return "gpu-mig";
    case GpuChange::reset:
      return "gpu-reset-config";
  }
  return "";
}

Result<spec::GpuProfile> to_sharing(const std::string& how) {
  if (how == "exclusive") return spec::GpuProfile();
  const bool mps = how.starts_with("mps:");
  const auto number = base::to_int(mps ? how.substr(4) : how);
  if (!number || *number < 2 || *number > 1000)
    return base::fail(Fault::usage, fmt::format("invalid sharing: '{}'", base::printable(how, 50)),
                      "use a number of at least 2 (time-slicing), mps:NUMBER, or exclusive");
  return spec::GpuProfile{mps ? spec::Sharing::mps : spec::Sharing::time_slicing, static_cast<int>(*number)};
}

Result<spec::Mig> to_mig(const std::string& how) {
  spec::Mig mig;
  if (how == "off") return mig;
  for (const std::string_view profile : base::split(how, ',')) {
    if (!spec::is_mig_profile(profile))
      return base::fail(Fault::usage, fmt::format("invalid MIG profile: '{}'", base::printable(profile, 50)),
                        "use profiles as listed by nvidia-smi mig -lgip: 1g.18gb,1g.18gb,3g.71gb; or off");
    ++mig.devices[std::string(profile)];
  }
  mig.strategy = mig.devices.size() > 1 ? spec::MigStrategy::mixed : spec::MigStrategy::single;
  return mig;
}

/// The alternative with DRA: pods share by using one claim.
base::Error shares_by_claims(const std::string& host) {
  return {
      Fault::blocked,
      fmt::format("the GPUs of {} are allocated by NVIDIA's DRA driver: gpuadm gpu share configures the "
                  "device plugin",
                  host),
      "pods share a GPU if they use the same ResourceClaim (spec.resourceClaims[].resourceClaimName); for "
      "time-slicing or MPS set gpu: { allocator: devicePlugin } in the cluster file, and run: gpuadm "
      "apply"};
}

/// The whole cluster, because its other nodes keep their settings; with the change for the one host.
struct WantedLayout {
  spec::Cluster cluster;
  std::string host;
};

Result<WantedLayout> what_is_wanted(GpuChange change, const GpuChangeOptions& options) {
  std::string name = options.host;
  spec::Cluster cluster = TRY(cluster_with(options.file, name, options.common.connection));
  WantedLayout wanted{std::move(cluster), name};
  const auto host = std::ranges::find(wanted.cluster.hosts, wanted.host, &spec::Host::name);
  if (change == GpuChange::share && wanted.cluster.gpu.allocator == spec::Allocator::dra)
    return std::unexpected(shares_by_claims(wanted.host));
  if (change != GpuChange::mig)
    host->gpu.sharing = change == GpuChange::share ? TRY(to_sharing(options.how)) : spec::GpuProfile();
  if (change != GpuChange::share)
    host->gpu.mig = change == GpuChange::mig ? TRY(to_mig(options.how)) : spec::Mig();
  return wanted;
}

/// Checks whether the change is impossible or would disturb pods. Nothing has been changed.
Result<bool> is_refused(const WantedLayout& wanted, const session::Survey& survey,
                        const std::optional<facts::ClusterFacts>& view, const assets::Store& assets,
                        GpuChange change, Io& io) {
  auto findings = TRY(session::find(wanted.cluster, {}, survey.census, assets, checks::Stage::preflight));
  std::erase_if(findings, [&](const report::Finding& finding) {
    const bool ours = finding.id.starts_with("gpu.layout.") || finding.id.starts_with("gpu.mig.layout") ||
                      finding.id.starts_with("gpu.cdi.") || finding.id.starts_with("gpu.dra.");
    return !ours || finding.host != wanted.host || !report::blocks(finding);
  });
  if (!findings.empty()) {
    io.out(report::to_text(findings, io.out_style));
    return true;
  }
  if (!view) return false;
  const facts::Node* node = facts::node_of(*view, *survey.census.at(wanted.host));
  if (change == GpuChange::share && node && allocates_by_claims(*view, *node)) {
    io.err(report::to_text(shares_by_claims(wanted.host), io.err_style));
    return true;
  }
  std::vector<std::string> pods;
  if (node)
    for (const facts::Pod* pod : cluster::gpu_pods(*view, node->name)) pods.push_back(pod->full());
  // Running pods keep their GPU when the plugin restarts; only MIG removes it from them.
  if (pods.empty() || change == GpuChange::share) return false;
  const std::string drain = "kubectl drain " + node->name + " --ignore-daemonsets --delete-emptydir-data";
  io.err(report::to_text(
      {base::Fault::remote, fmt::format("pods use GPUs of {}: {}", wanted.host, base::join(pods, ", ")),
       drain + ", then run again"},
      io.err_style));
  return true;
}

/// Warns about a cluster file with other settings, which would revert the change.
void remind(const WantedLayout& wanted, const GpuChangeOptions& options, Io& io) {
  if (options.file.empty() || options.consent == Consent::preview) return;
  const auto before = session::read_cluster({options.file, {}}, options.common.connection);
  if (!before || spec::to_tree(*before) == spec::to_tree(wanted.cluster)) return;
  io.err(fmt::format(
      "{} has other settings for {}: change hosts[].gpu there too, or the next gpuadm init reverts it "
      "back\n",
      options.file.string(), base::printable(wanted.host)));
}

/// Previews, asks, journals and applies. Outcome::blocked if pods use the host's GPUs, or if the GPUs do not
/// support the setting.
Result<Outcome> gpu_change(GpuChange change, const GpuChangeOptions& options, Io& io) {
  WantedLayout wanted = TRY(what_is_wanted(change, options));
  spec::Cluster& cluster = wanted.cluster;
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  playbook::Library library = TRY(playbook::Library::load(assets, playbook_of(change)));
  const session::RunContext session =
      TRY(session::RunContext::open(cluster, options.common.connection, options.consent, io));
  const session::Survey survey = TRY(session.survey_all(assets));
  cluster = TRY(identify(std::move(cluster), options.file, survey, *session.fleet, assets)).cluster;
  if (survey.census.at(wanted.host)->nvidia.gpus.empty())
    return base::fail(Fault::usage, fmt::format("{}: nvidia-smi lists no GPU", wanted.host),
                      "gpuadm doctor shows the cause");
  if (change == GpuChange::mig && options.how != "off" &&
      !survey.census.at(wanted.host)->nvidia.quarantine.empty())
    return base::fail(
        Fault::blocked,
        fmt::format("GPUs of {} are in quarantine, which is not possible with MIG", wanted.host),
        "gpuadm gpu list shows them; gpuadm gpu release HOST GPU");
  const bool in_cluster = std::ranges::any_of(cluster.hosts, [&](const spec::Host& host) {
    return facts::is_control_plane(survey.census, host.name);
  });
  std::optional<facts::ClusterFacts> view;
  if (in_cluster) {
    view = TRY(session::read_cluster_with_retry(cluster, survey.census, *session.fleet, assets, io));
    TRY(facts::require_nodes_and_pods(*view));
  }
  if (TRY(is_refused(wanted, survey, view, assets, change, io))) return Outcome::blocked;
  if (view)
    TRY(keep_set_up(cluster, wanted.host, options.file, *survey.census.at(wanted.host), *view,
                    {.sharing = change != GpuChange::mig, .mig = change != GpuChange::share}));

  if (in_cluster) TRY(keep_plugin_image(library, cluster, survey.census, *session.fleet, assets));
  const Outcome outcome = TRY(change_gpus_of(wanted.host, cluster, library, assets, session, survey, {}, {},
                                             options.consent, options.format, io));
  if (outcome == Outcome::done) remind(wanted, options, io);
  return outcome;
}

}  // namespace

Command gpu_share_command() {
  return CommandRow<GpuChangeOptions>{
      .name = "gpu share",
      .group = Group::operate,
      .summary = "Configure GPU sharing on a host",
      .options =
          [](Line& line, GpuChangeOptions& options) {
            add_gpu_host(line, options.host);
            line.argument("HOW", options.how, "N: time-slicing; mps:N; exclusive").required();
            add_gpu_change(line, options);
          },
      .examples = {{"gpuadm gpu share gpu1 4 -f cluster.yaml", "time-slicing, four pods per GPU"},
                   {"gpuadm gpu share gpu1 exclusive -f cluster.yaml", "no sharing"}},
      .run = [](const GpuChangeOptions& options,
                Io& io) { return gpu_change(GpuChange::share, options, io); }};
}

Command gpu_mig_command() {
  return CommandRow<GpuChangeOptions>{
      .name = "gpu mig",
      .group = Group::operate,
      .summary = "Partition the GPUs of a host into MIG instances",
      .options =
          [](Line& line, GpuChangeOptions& options) {
            add_gpu_host(line, options.host);
            line.argument("HOW", options.how, "PROFILE,...: such as 3g.71gb,3g.71gb; off").required();
            add_gpu_change(line, options);
          },
      .examples = {{"gpuadm gpu mig gpu1 3g.71gb,3g.71gb -f cluster.yaml", "two instances per GPU"},
                   {"gpuadm gpu mig gpu1 off -f cluster.yaml", "MIG off"}},
      .run = [](const GpuChangeOptions& options, Io& io) { return gpu_change(GpuChange::mig, options, io); }};
}

Command gpu_reset_config_command() {
  return CommandRow<GpuChangeOptions>{
      .name = "gpu reset-config",
      .group = Group::operate,
      .summary = "Restore defaults: exclusive, MIG off, default compute mode and clocks",
      .options =
          [](Line& line, GpuChangeOptions& options) {
            add_gpu_host(line, options.host);
            add_gpu_change(line, options);
          },
      .examples = {{"gpuadm gpu reset-config gpu1 -f cluster.yaml", "restore defaults"}},
      .run = [](const GpuChangeOptions& options,
                Io& io) { return gpu_change(GpuChange::reset, options, io); }};
}

}  // namespace commands
