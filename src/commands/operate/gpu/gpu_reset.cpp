#include "gpuadm/cluster/gpu_reset.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/claimed_node.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"

#include "commands/operate/gpu/gpu_options.hpp"
#include "commands/operate/gpu/gpu_plan.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace commands {

namespace {

enum class GpuReset { reset, cancel };

struct GpuResetOptions {
  Common common;
  std::filesystem::path file;  ///< the cluster file; empty: the host is the whole cluster
  std::string host;            ///< a name in the file, or a target
  std::string gpu;             ///< index, UUID or PCI address
  GpuReset what = GpuReset::reset;
  int drain_timeout = 300;  ///< seconds for the pods that use the GPU to end
  Consent consent = Consent::ask;
  Format format = Format::text;
};

using base::Fault;
using PodNames = std::map<std::string, facts::PodName, std::less<>>;

/// The GPU, and where it is.
struct Target {
  std::string host, node;
  facts::Gpu gpu;
  bool pending = false;  ///< its reset has begun in an earlier run
};

/// The node of the host, whose GPUs gpuadm allocates.
Result<const facts::Node*> node_for_reset(const spec::Cluster& cluster, const facts::ClusterFacts& view,
                                          const facts::Facts& facts, const std::string& host) {
  const facts::Node* node = facts::node_of(view, facts);
  if (!node)
    return base::fail(Fault::blocked, fmt::format("{} is not a node of the cluster", host),
                      "reset its GPU there: nvidia-smi --gpu-reset -i GPU");
  if (cluster.gpu.stack == spec::GpuStack::gpu_operator)
    return base::fail(Fault::blocked,
                      "the device plugin and DCGM, which use the GPU, belong to NVIDIA's GPU Operator",
                      fmt::format("reboot the host instead: kubectl drain {} --ignore-daemonsets, then "
                                  "systemctl reboot",
                                  node->name));
  if (!node->upgrade.empty())
    return base::fail(Fault::blocked, fmt::format("the upgrade of {} has not completed", node->name),
                      "run gpuadm upgrade again first");
  return node;
}

Result<Target> find_target(const spec::Cluster& cluster, const facts::ClusterFacts& view,
                           const facts::Facts& facts, const std::string& host,
                           const GpuResetOptions& options) {
  const facts::Node* node = TRY(node_for_reset(cluster, view, facts, host));
  const auto pending = cluster::pending_reset(*node);
  Target target{host, node->name, {}, pending.has_value()};
  const std::string wanted = base::lower(options.gpu);
  const bool is_pending = pending && (wanted == base::lower(pending->uuid) || wanted == pending->slot);
  if (const auto found = find_gpu(facts.nvidia, options.gpu, host); found) {
    target.gpu.uuid = found->uuid;
    target.gpu.bus_id = found->slot;
  } else if (is_pending) {
    target.gpu.uuid = pending->uuid;
    target.gpu.bus_id = pending->slot;
  } else {
    return std::unexpected(found.error());
  }
  if (pending && pending->uuid != target.gpu.uuid)
    return base::fail(Fault::blocked,
                      fmt::format("the reset of GPU {} of {} has not completed", pending->uuid, host),
                      fmt::format("gpuadm gpu reset {} {}, or the same with --cancel", host, pending->uuid));
  const auto gpu = std::ranges::find(facts.nvidia.gpus, target.gpu.uuid, &facts::Gpu::uuid);
  if (gpu != facts.nvidia.gpus.end())
    target.gpu = *gpu;
  else if (options.what == GpuReset::reset)
    return base::fail(
        Fault::blocked,
        fmt::format(
            "nvidia-smi does not list GPU {} of {}{}", target.gpu.uuid, host,
            facts.nvidia.smi_message.empty() ? "" : ": " + base::printable(facts.nvidia.smi_message, 200)),
        target.pending ? "reboot the host, or power-cycle it, then run again; --cancel returns the node "
                         "without a reset"
                       : "reboot the host, or power-cycle it");
  return target;
}

/// The device file of a GPU; empty: its number is not known.
std::string device_of(const facts::Gpu& gpu) {
  const auto minor = gpu.readings.find("minor_number");
  const auto number = minor == gpu.readings.end() ? std::nullopt : base::to_int(minor->second);
  return number ? fmt::format("/dev/nvidia{}", *number) : "";
}

Result<PodNames> names_of(const facts::GpuUsers& users, const std::string& control_plane,
                          transport::Fleet& fleet, const assets::Store& assets) {
  std::set<std::string> uids;
  if (users.pods) uids.insert(users.pods->begin(), users.pods->end());
  for (const facts::GpuUser& user : users.programs)
    if (!user.pod_uid.empty()) uids.insert(user.pod_uid);
  if (uids.empty()) return PodNames();
  const transport::Exit exit = TRY(session::ask(
      control_plane,
      {.label = "read the names of pods",
       .asset = "playbooks/read/gpu-pods.sh",
       .variables = {{"uids", base::join(std::vector(uids.begin(), uids.end()), " ")}, {"from", "cluster"}}},
      fleet, assets));
  facts::PodNames names = facts::parse_pod_names(exit.out);
  if (names.status != 0)
    return base::fail(Fault::remote, fmt::format("{}: the API server does not list pods", control_plane),
                      "kubectl get pods -A there shows why");
  return std::move(names.pods);
}

/// The pods to evict; an error if one must not be evicted, or if a program uses the GPU that gpuadm does not
/// end.
Result<cluster::GpuHolders> read_holders(const spec::Cluster& cluster, const session::Survey& survey,
                                         const facts::ClusterFacts& view, const Target& target,
                                         transport::Fleet& fleet, const assets::Store& assets) {
  const transport::Exit exit =
      TRY(session::ask(target.host,
                       {.label = "read who uses the GPU",
                        .asset = "playbooks/read/gpu-users.sh",
                        .variables = {{"uuid", target.gpu.uuid}, {"device", device_of(target.gpu)}}},
                       fleet, assets));
  const facts::GpuUsers users = TRY(facts::parse_gpu_users(exit.out));
  const spec::Host* first = playbook::first_control_plane(cluster, survey.census);
  const PodNames names = TRY(names_of(users, first->name, fleet, assets));
  cluster::GpuHolders holders = cluster::gpu_holders(view, target.node, target.gpu, users, names);
  if (const auto obstacle = cluster::eviction_obstacle(holders.pods)) return std::unexpected(*obstacle);
  if (!users.all_programs)
    return base::fail(
        Fault::blocked,
        fmt::format("{}: which programs use GPU {} is unknown: not all open files of the host's "
                    "programs could be read",
                    target.host, target.gpu.index),
        "run again; find, stat and root's rights are required");
  if (!holders.others.empty())
    return base::fail(Fault::blocked,
                      fmt::format("GPU {} of {} is in use by {}", target.gpu.index, target.host,
                                  base::printable(base::join(holders.others, ", "), 1000)),
                      "gpuadm does not end these programs: end them, then run again");
  return holders;
}

/// Notes for the operator.
void note_holders(const cluster::GpuHolders& holders, const Target& target, report::Reporter& reporter) {
  if (holders.pods.empty()) return;
  std::vector<std::string> names;
  for (const facts::Pod* pod : holders.pods) names.push_back(pod->full());
  session::notify(
      reporter, report::Did::note,
      fmt::format(
          "{}: {}",
          holders.all_gpu_pods
              ? fmt::format("which pod uses GPU {} is not known, so all pods with GPUs of {} are evicted",
                            target.gpu.index, target.node)
              : "pods that use the GPU are evicted",
          base::join(names, ", ")));
}

Result<plan::Plan> make_plan(const spec::Cluster& cluster, const facts::Census& census,
                             const playbook::Library& library, const Target& target,
                             const cluster::GpuHolders& holders, const GpuResetOptions& options) {
  std::vector<std::string> pods;
  for (const facts::Pod* pod : holders.pods) pods.push_back(pod->full());
  plan::Choice choice;
  choice.given = {{"reset_node", target.node},
                  {"reset_pods", base::join(pods, " ")},
                  {"gpu_uuid", target.gpu.uuid},
                  {"gpu_slot", target.gpu.bus_id},
                  {"gpu_device", device_of(target.gpu)},
                  {"drain_timeout", std::to_string(options.drain_timeout)},
                  {"gpu_hosts", target.host}};
  choice.batches = {{{target.host}, {}}};
  if (options.what == GpuReset::cancel) choice.phases = {"reset/start", "reset/labels", "reset/return"};
  return plan::make(cluster, {}, census, library, nullptr, choice);
}

/// Whether the GPU is healthy now; `before`: the facts of the host before the reset.
Result<> check_health(const spec::Cluster& cluster, const Target& target, const facts::Facts& before,
                      facts::Facts now, const assets::Store& assets) {
  cluster::forget_log(now, before);
  // A GPU in quarantine has notes instead of blockers.
  std::erase_if(now.nvidia.quarantine,
                [&](const facts::QuarantinedGpu& entry) { return entry.uuid == target.gpu.uuid; });
  facts::Census census;
  census.emplace(target.host, now);
  const auto findings = TRY(session::find(cluster, {}, census, assets, checks::Stage::node));
  const auto trouble = cluster::trouble_after_reset(now, target.gpu, findings);
  if (trouble.empty()) return {};
  return base::fail(
      Fault::remote,
      fmt::format("GPU {} of {} is not healthy after the reset: {}; {} stays cordoned", target.gpu.index,
                  target.host, base::printable(base::join(trouble, "; "), 1000), target.node),
      fmt::format("reboot the host, then run the same command again; or return the node without this GPU: "
                  "gpuadm gpu quarantine {0} {1}, then gpuadm gpu reset {0} {1} --cancel",
                  target.host, target.gpu.uuid));
}

/// Resets one GPU of a node: cordons the node, evicts the pods that use the GPU, stops the device plugin and
/// services that use it, resets it, verifies that it is healthy, and undoes the preparations. Continues a
/// reset that did not complete; with GpuReset::cancel, only undoes its preparations. Outcome::blocked or
/// Fault::blocked, with nothing changed, if the GPU cannot be reset alone, or is used by programs that gpuadm
/// does not end.
Result<Outcome> gpu_reset(const GpuResetOptions& options, Io& io) {
  std::string host = options.host;
  const spec::Cluster cluster = TRY(cluster_with(options.file, host, options.common.connection));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const playbook::Library library = TRY(playbook::Library::load(assets, "gpu-reset"));
  const session::RunContext session =
      TRY(session::RunContext::open(cluster, options.common.connection, options.consent, io));
  const session::Survey survey = TRY(session.survey_all(assets));
  TRY(session::has_control_plane(cluster, survey.census));
  const facts::Facts& before = *survey.census.at(host);
  const facts::ClusterFacts view =
      TRY(session::read_cluster_with_retry(cluster, survey.census, *session.fleet, assets, io));
  TRY(facts::require_nodes_and_pods(view));
  if (const facts::Node* node = facts::node_of(view, before))
    TRY(cluster::check_claimed_node(*node, host, cluster, survey.census, view));
  const Target target = TRY(find_target(cluster, view, before, host, options));

  cluster::GpuHolders holders;
  const bool resets = options.what == GpuReset::reset;
  if (resets) {
    if (const auto obstacle = cluster::reset_obstacle(before, target.gpu, host))
      return std::unexpected(*obstacle);
    holders = TRY(read_holders(cluster, survey, view, target, *session.fleet, assets));
  }
  plan::Plan first = TRY(make_plan(cluster, survey.census, library, target, holders, options));
  session::Execution execution{assets, std::move(first), {}, options.consent, {}};
  for (const auto& [name, facts] : survey.census) execution.hosts.push_back(name);
  // First after the hosts are locked; then after the reset.
  bool locked = false;
  execution.again = [&](const auto&) -> Result<plan::Plan> {
    const session::Survey now = TRY(session.survey_all(assets));
    if (std::exchange(locked, true) && resets)
      TRY(check_health(cluster, target, before, *now.census.at(host), assets));
    return make_plan(cluster, now.census, library, target, holders, options);
  };
  return session::with_reporter(
      session.folder, options.format, io, [&](report::Reporter& reporter) -> Result<Outcome> {
        if (!resets && !target.pending) {
          session::notify(reporter, report::Did::finished, "nothing to do: no reset has begun");
          return Outcome::done;
        }
        note_holders(holders, target, reporter);
        return session::execute(execution, session, reporter, io);
      });
}

}  // namespace

Command gpu_reset_command() {
  return CommandRow<GpuResetOptions>{
      .name = "gpu reset",
      .group = Group::operate,
      .summary = "Reset one GPU of a node: cordon, evict the pods that use it, reset, verify, uncordon",
      .options =
          [](Line& line, GpuResetOptions& options) {
            add_gpu_host(line, options.host);
            add_one_gpu(line, options.gpu);
            line.value("--drain-timeout", options.drain_timeout, "SECONDS",
                       "Time limit for evicting the pods that use the GPU (default 300)")
                .range(1, 7200);
            line.flag("--cancel", options.what, GpuReset::cancel,
                      "Return the node after a reset that did not complete, without another one");
            add_gpu_change(line, options);
          },
      .examples = {{"gpuadm gpu reset gpu1 3 -f cluster.yaml --dry-run",
                    "show the steps and the pods that are evicted"},
                   {"gpuadm gpu reset gpu1 3 -f cluster.yaml", "reset it, after confirmation"},
                   {"gpuadm gpu reset gpu1 3 -f cluster.yaml --cancel",
                    "return the node after a failed reset"}},
      .run = gpu_reset};
}

}  // namespace commands
