#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/checks/checks.hpp"
#include "gpuadm/cluster/gpu_rows.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/session/cluster.hpp"

#include "commands/install/identity.hpp"
#include "commands/operate/gpu/gpu_options.hpp"
#include "commands/operate/gpu/gpu_plan.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace commands {

namespace {

enum class Quarantine { add, release };

struct QuarantineOptions {
  Common common;
  std::filesystem::path file;  ///< the cluster file; empty: the host is the whole cluster
  std::string host;            ///< a name in the file, or a target
  std::string gpu;             ///< index, UUID or PCI address
  std::string reason;          ///< the operator's words, for the lists; may be empty
  bool evict = false;          ///< with NVIDIA's DRA driver: end the pods that use the GPU
  Consent consent = Consent::ask;
  Format format = Format::text;
};

using base::Fault;
using facts::QuarantinedGpu;

constexpr std::size_t reason_limit = 200;

/// Why the cluster cannot do it, whatever the host is.
Result<> check_cluster(const spec::Cluster& cluster, const std::string& host) {
  if (cluster.gpu.stack == spec::GpuStack::gpu_operator)
    return base::fail(Fault::blocked, "the device plugin belongs to NVIDIA's GPU Operator",
                      "gpuadm can keep a GPU from pods only with gpu.stack: native; cordon the node instead: "
                      "kubectl cordon " +
                          host);
  if (cluster.gpu.allocator == spec::Allocator::device_plugin &&
      cluster.gpu.strategy == spec::DeviceStrategy::cdi)
    return base::fail(
        Fault::blocked, "with gpu.strategy: cdi, the device plugin sees every GPU of the host",
        "set gpu: { strategy: runtimeClass } in the cluster file and run gpuadm apply, or cordon "
        "the node: kubectl cordon " +
            host);
  return {};
}

/// Why this GPU cannot be taken from pods.
Result<> check_gpu(const facts::Nvidia& nvidia, const QuarantinedGpu& gpu, const std::string& host) {
  if (!facts::quarantined_in(fmt::format("{} {} -", gpu.uuid, gpu.slot)))
    return base::fail(Fault::blocked, fmt::format("the driver reports no valid UUID of GPU {}", gpu.slot),
                      "gpuadm doctor shows the state of the driver");
  if (has_mig(nvidia))
    return base::fail(
        Fault::blocked, fmt::format("GPUs of {} are partitioned by MIG", host),
        fmt::format("gpuadm gpu mig {} off, or cordon the node: kubectl cordon {}", host, host));
  const auto usable = facts::usable_gpus(nvidia);
  if (usable.size() == 1 && usable.front()->uuid == gpu.uuid)
    return base::fail(Fault::blocked, fmt::format("{} would have no GPU for pods", host),
                      "cordon the node instead: kubectl cordon " + host);
  return {};
}

/// The list without the GPU, or with it: in its place, otherwise at the end.
void change(facts::Nvidia& nvidia, Quarantine what, const QuarantinedGpu& gpu) {
  auto& list = nvidia.quarantine;
  const auto place = std::ranges::find(list, gpu.uuid, &QuarantinedGpu::uuid);
  if (what == Quarantine::release)
    std::erase_if(list, [&](const QuarantinedGpu& one) { return one.uuid == gpu.uuid; });
  else if (place == list.end())
    list.push_back(gpu);
  else
    *place = gpu;
}

/// The variables of the step gpu.taint: the DeviceTaintRule of the GPU, and "DRIVER POOL DEVICE EFFECT"; an
/// empty device removes the rule.
Result<base::Variables> taint_of(const spec::Cluster& cluster, const facts::ClusterFacts& view,
                                 const facts::Facts& facts, const std::string& host, Quarantine what,
                                 const QuarantinedGpu& gpu, const QuarantineOptions& options) {
  base::Variables given = {{"taint_rule", facts::taint_rule_of(gpu.uuid)}, {"taint_device", ""}};
  if (cluster.gpu.allocator != spec::Allocator::dra) {
    if (!options.evict) return given;
    return base::fail(Fault::usage, "--evict requires NVIDIA's DRA driver",
                      "delete the pods that use the GPU with kubectl: gpuadm gpu list shows them");
  }
  if (what == Quarantine::release) return given;
  if (!view.taint_rules)
    return base::fail(
        Fault::blocked,
        fmt::format("the GPUs of {} are allocated by NVIDIA's DRA driver, and the API server does not serve "
                    "DeviceTaintRules, which keep single GPUs from pods",
                    host),
        "enable them (Kubernetes 1.37 serves them by default; 1.36 with the feature gate DRADeviceTaintRules "
        "of API server, scheduler and controller manager, and "
        "--runtime-config=resource.k8s.io/v1beta2=true), or cordon the node: kubectl "
        "cordon " +
            host);
  if (view.version.empty())
    return base::fail(
        Fault::blocked,
        "the version of Kubernetes could not be read: DeviceTaintRules break the kube-scheduler of "
        "1.36.0 to 1.36.2",
        "run the same command again");
  if (const std::string broken = checks::version_broken_by_taint_rules(view); !broken.empty())
    return base::fail(
        Fault::blocked,
        fmt::format(
            "the kube-scheduler of Kubernetes {} ignores DeviceTaintRules, which keep single GPUs from "
            "pods, and cannot start while one exists",
            base::printable(broken, 50)),
        "upgrade to 1.36.3 or newer (gpuadm upgrade), or cordon the node: kubectl cordon " + host);
  const facts::Node* node = facts::node_of(view, facts);
  for (const facts::ResourceSlice& slice : view.slices.value_or(std::vector<facts::ResourceSlice>())) {
    if (!node || slice.driver != "gpu.nvidia.com" || slice.node != node->name) continue;
    const auto device = std::ranges::find(slice.devices, gpu.uuid, &facts::Device::uuid);
    if (device == slice.devices.end()) continue;
    given["taint_device"] = fmt::format("{} {} {} {}", slice.driver, slice.pool, device->name,
                                        options.evict ? "NoExecute" : "NoSchedule");
    return given;
  }
  return base::fail(Fault::blocked,
                    fmt::format("no ResourceSlice of the DRA driver has GPU {} of {}", gpu.uuid, host),
                    "gpuadm doctor --stage cluster --only gk.dra shows the cause");
}

/// Pods and programs that keep the GPU.
void name_holders(const spec::Cluster& cluster, const session::Survey& survey,
                  const facts::ClusterFacts& view, const QuarantinedGpu& gpu,
                  const QuarantineOptions& options, Io& io) {
  for (const cluster::GpuRow& row : cluster::gpu_table(cluster, survey.census, view, {}).rows)
    if (row.uuid == gpu.uuid && !row.holders.empty())
      io.err(fmt::format("these {}: {}\n", options.evict ? "are evicted" : "keep the GPU until they end",
                         base::printable(base::join(row.holders, ", "), 1000)));
}

/// Keeps one GPU of a node from pods, or offers it again: previews, asks, journals and applies. The node
/// advertises its other GPUs, or with NVIDIA's DRA driver a DeviceTaintRule taints the GPU's device; pods
/// that use the GPU keep it until they end. Fault::blocked if the cluster's way to allocate GPUs does not
/// allow it.
Result<Outcome> gpu_quarantine(Quarantine what, const QuarantineOptions& options, Io& io) {
  if (options.reason.size() > reason_limit || base::printable(options.reason) != options.reason)
    return base::fail(Fault::usage, "--reason is not one line of at most 200 characters", "shorten it");
  std::string host = options.host;
  spec::Cluster cluster = TRY(cluster_with(options.file, host, options.common.connection));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  playbook::Library library = TRY(playbook::Library::load(assets, "gpu-quarantine"));
  const session::RunContext session =
      TRY(session::RunContext::open(cluster, options.common.connection, options.consent, io));
  const session::Survey survey = TRY(session.survey_all(assets));
  if (!std::ranges::any_of(cluster.hosts, [&](const spec::Host& one) {
        return facts::is_control_plane(survey.census, one.name);
      }))
    return base::fail(Fault::usage, fmt::format("{} is not a control-plane node", host),
                      "use -f with the cluster file: the control plane applies the device plugin");
  cluster = TRY(identify(std::move(cluster), options.file, survey, *session.fleet, assets)).cluster;
  if (what == Quarantine::add) TRY(check_cluster(cluster, host));
  const facts::Nvidia& nvidia = survey.census.at(host)->nvidia;
  QuarantinedGpu gpu = TRY(find_gpu(nvidia, options.gpu, host));
  const auto entry = std::ranges::find(nvidia.quarantine, gpu.uuid, &QuarantinedGpu::uuid);
  if (entry != nvidia.quarantine.end()) {
    gpu = *entry;
  } else if (what == Quarantine::add) {
    TRY(check_gpu(nvidia, gpu, host));
    constexpr std::size_t to_seconds = 19;
    gpu.since = base::iso8601(base::now()).substr(0, to_seconds) + "Z";
    gpu.reason = options.reason;
  }
  gpu.by_taint = cluster.gpu.allocator == spec::Allocator::dra;
  const facts::ClusterFacts view =
      TRY(session::read_cluster_with_retry(cluster, survey.census, *session.fleet, assets, io));
  TRY(facts::require_nodes_and_pods(view));
  TRY(keep_set_up(cluster, host, options.file, *survey.census.at(host), view, {}));
  const base::Variables taint =
      TRY(taint_of(cluster, view, *survey.census.at(host), host, what, gpu, options));
  if (what == Quarantine::add) name_holders(cluster, survey, view, gpu, options, io);
  TRY(keep_plugin_image(library, cluster, survey.census, *session.fleet, assets));
  return change_gpus_of(
      host, cluster, library, assets, session, survey, taint,
      [&](facts::Census& census) {
        if (auto& facts = census.at(host)) change(facts->nvidia, what, gpu);
      },
      options.consent, options.format, io);
}

}  // namespace

Command gpu_quarantine_command() {
  return CommandRow<QuarantineOptions>{
      .name = "gpu quarantine",
      .group = Group::operate,
      .summary = "Keep one GPU of a node from pods; the others remain in use",
      .options =
          [](Line& line, QuarantineOptions& options) {
            add_gpu_host(line, options.host);
            add_one_gpu(line, options.gpu);
            line.value("--reason", options.reason, "TEXT", "Why, for gpuadm gpu list and doctor");
            line.flag("--evict", options.evict,
                      "With NVIDIA's DRA driver: also delete the pods that use the GPU");
            add_gpu_change(line, options);
          },
      .examples = {{"gpuadm gpu quarantine gpu1 3 -f cluster.yaml --reason 'Xid 79, ticket 4711'",
                    "pods get the other GPUs"}},
      .run = [](const QuarantineOptions& options,
                Io& io) { return gpu_quarantine(Quarantine::add, options, io); }};
}

Command gpu_release_command() {
  return CommandRow<QuarantineOptions>{
      .name = "gpu release",
      .group = Group::operate,
      .summary = "Offer a GPU in quarantine to pods again",
      .options =
          [](Line& line, QuarantineOptions& options) {
            add_gpu_host(line, options.host);
            add_one_gpu(line, options.gpu);
            add_gpu_change(line, options);
          },
      .examples = {{"gpuadm gpu release gpu1 3 -f cluster.yaml", "once it is repaired"}},
      .run = [](const QuarantineOptions& options,
                Io& io) { return gpu_quarantine(Quarantine::release, options, io); }};
}

}  // namespace commands
