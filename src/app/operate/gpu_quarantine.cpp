#include "gpuadm/app/gpu.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/cluster/gpu_rows.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/session/cluster_view.hpp"

#include "app/operate/gpu_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace app {

namespace {

using base::Fault;
using facts::QuarantinedGpu;

constexpr std::size_t reason_limit = 200;

bool contains(const std::vector<QuarantinedGpu>& list, const QuarantinedGpu& gpu) {
  return std::ranges::find(list, gpu.uuid, &QuarantinedGpu::uuid) != list.end();
}

/// Why the cluster cannot do it, whatever the host is.
Result<> check_cluster(const spec::Cluster& cluster, const std::string& host) {
  if (cluster.gpu.stack == spec::GpuStack::gpu_operator)
    return base::fail(Fault::blocked, "the device plugin belongs to NVIDIA's GPU Operator",
                      "gpuadm can keep a GPU from pods only with gpu.stack: native; cordon the node instead: "
                      "kubectl cordon " +
                          host);
  if (cluster.gpu.allocator == spec::Allocator::dra)
    return base::fail(
        Fault::blocked,
        fmt::format("the GPUs of {} are allocated by NVIDIA's DRA driver: gpuadm gpu quarantine configures "
                    "the device plugin",
                    host),
        "create a DeviceTaintRule for the device: kubectl explain devicetaintrule (Kubernetes 1.37; in 1.36 "
        "with the feature gate DRADeviceTaintRules)");
  if (cluster.gpu.strategy == spec::DeviceStrategy::cdi)
    return base::fail(
        Fault::blocked, "with gpu.strategy: cdi, the device plugin sees every GPU of the host",
        "set gpu: { strategy: runtimeClass } in the cluster file and run gpuadm apply, or cordon "
        "the node: kubectl cordon " +
            host);
  return {};
}

/// The GPU that the operator means. One that is in quarantine may have fallen off the bus since.
Result<QuarantinedGpu> find_gpu(const facts::Nvidia& nvidia, const QuarantineOptions& options,
                                const std::string& host) {
  const std::string wanted = base::lower(options.gpu);
  const auto is_it = [&](const std::string& uuid, const std::string& slot) {
    return wanted == base::lower(uuid) || wanted == base::lower(slot);
  };
  std::vector<std::string> known;
  for (const facts::Gpu& gpu : nvidia.gpus) {
    if (is_it(gpu.uuid, gpu.bus_id) || wanted == std::to_string(gpu.index))
      return QuarantinedGpu{gpu.uuid, gpu.bus_id, {}, {}};
    known.push_back(fmt::format("{} ({})", gpu.index, gpu.uuid));
  }
  for (const QuarantinedGpu& entry : nvidia.quarantine) {
    if (is_it(entry.uuid, entry.slot)) return entry;
    known.push_back(entry.uuid);
  }
  return base::fail(Fault::usage, fmt::format("{} has no GPU {}", host, base::printable(options.gpu, 60)),
                    known.empty() ? "nvidia-smi lists no GPU: gpuadm doctor shows the cause"
                                  : "its GPUs: " + base::join(known, ", "));
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

/// The list without the GPU, or with it at its end.
void change(facts::Nvidia& nvidia, Quarantine what, const QuarantinedGpu& gpu) {
  auto& list = nvidia.quarantine;
  const bool in_it = contains(list, gpu);
  if (what == Quarantine::release)
    std::erase_if(list, [&](const QuarantinedGpu& one) { return one.uuid == gpu.uuid; });
  else if (!in_it)
    list.push_back(gpu);
}

/// Pods and programs that keep the GPU.
void name_holders(const spec::Cluster& cluster, const session::Survey& survey, const std::string& view,
                  const QuarantinedGpu& gpu, Io& io) {
  const auto facts = facts::parse_cluster(view);
  if (!facts) return;
  for (const cluster::GpuRow& row : cluster::gpu_table(cluster, survey.census, *facts, {}).rows)
    if (row.uuid == gpu.uuid && !row.holders.empty())
      io.err(fmt::format("these keep the GPU until they end: {}\n",
                         base::printable(base::join(row.holders, ", "), 1000)));
}

}  // namespace

Result<Outcome> gpu_quarantine(Quarantine what, const QuarantineOptions& options, Io& io) {
  if (options.reason.size() > reason_limit || base::printable(options.reason) != options.reason)
    return base::fail(Fault::usage, "--reason is not one line of at most 200 characters", "shorten it");
  std::string host = options.host;
  const spec::Cluster cluster = TRY(cluster_with(options.file, host, options.common.connection));
  if (what == Quarantine::add) TRY(check_cluster(cluster, host));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  playbook::Library library = TRY(playbook::Library::load(assets, "gpu-quarantine"));
  const session::Session session =
      TRY(session::Session::open(cluster, options.common.connection, options.consent, io));
  const session::Survey survey = TRY(session.survey_all(assets));
  if (!std::ranges::any_of(cluster.hosts, [&](const spec::Host& one) {
        return facts::is_control_plane(survey.census, one.name);
      }))
    return base::fail(Fault::usage, fmt::format("{} is not a control-plane node", host),
                      "use -f with the cluster file: the control plane applies the device plugin");
  const facts::Nvidia& nvidia = survey.census.at(host)->nvidia;
  QuarantinedGpu gpu = TRY(find_gpu(nvidia, options, host));
  const bool in_it = contains(nvidia.quarantine, gpu);
  if (what == Quarantine::add && !in_it) {
    TRY(check_gpu(nvidia, gpu, host));
    constexpr std::size_t to_seconds = 19;
    gpu.since = base::iso8601(base::now()).substr(0, to_seconds) + "Z";
    gpu.reason = options.reason;
  }
  const auto view = TRY(session::view_cluster(cluster, survey.census, *session.fleet, assets));
  if (what == Quarantine::add && view) name_holders(cluster, survey, *view, gpu, io);
  TRY(keep_plugin_image(library, cluster, survey.census, *session.fleet, assets));
  return change_gpus_of(
      host, cluster, library, assets, session, survey,
      [&](facts::Census& census) {
        if (auto& facts = census.at(host)) change(facts->nvidia, what, gpu);
      },
      options.consent, options.format, io);
}

}  // namespace app
