#include "commands/operate/health/node_usage.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/gpu_sample.hpp"
#include "gpuadm/session/connections.hpp"

#include "commands/operate/health/health.hpp"
#include "commands/operate/health/node_facts.hpp"
#include "commands/operate/health/rotated_file.hpp"

#include <algorithm>

namespace commands {

namespace {

/// Of each of two files. A row has about 310 bytes: eight GPUs with one holder each are 60 kB a day, so that
/// a file has 400 days of them.
constexpr std::uintmax_t most_usage = 24u << 20;
constexpr const char* usage_file = "usage.json";
constexpr std::size_t most_checkpoint = 4u << 20;
constexpr std::size_t most_new_pods = 16;  // whose labels one run reads
constexpr std::chrono::seconds labels_timeout{20}, processes_timeout{15};

void add_pods_in(const std::filesystem::path& folder, std::set<std::string>& pods) {
  for (const std::string& name : names_in(folder))
    if (auto uid = facts::cgroup_owner("/" + name).pod_uid; !uid.empty()) pods.insert(std::move(uid));
}

/// The pods that have a control group; with version 1, one in the hierarchy of memory.
std::set<std::string> pods_with_groups(const std::filesystem::path& root) {
  std::set<std::string> pods;
  for (const char* hierarchy : {"sys/fs/cgroup", "sys/fs/cgroup/memory"})
    for (const std::string& name : names_in(root / hierarchy)) {
      if (!name.starts_with("kubepods")) continue;
      const auto all = root / hierarchy / name;
      add_pods_in(all, pods);
      for (const std::string& quality : names_in(all))  // burstable, besteffort
        if (facts::cgroup_owner("/" + quality).pod_uid.empty()) add_pods_in(all / quality, pods);
    }
  return pods;
}

cluster::UsageMeter read_meter(const std::filesystem::path& file) {
  const auto text = base::read_file(file, 8u << 20);
  if (!text) return {};
  const auto tree = base::json::read(*text, "usage.json");
  return tree ? cluster::usage_meter_in(*tree) : cluster::UsageMeter();
}

/// Adds the names and labels of pods that are new. A pod whose labels could not be read is read again by the
/// next run.
void name_pods(const UsageRun& run, std::span<const cluster::UsagePart> parts, cluster::UsageMeter& meter) {
  std::vector<std::string> uids;
  for (const cluster::UsagePart& part : parts)
    for (const std::string& uid : part.pods)
      if (!meter.pods.contains(uid) && std::ranges::find(uids, uid) == uids.end() &&
          uids.size() < most_new_pods)
        uids.push_back(uid);
  if (uids.empty()) return;
  const auto answer = session::ask(run.host,
                                   {.label = "read the labels of pods",
                                    .asset = "playbooks/read/gpu-pods.sh",
                                    .variables = {{"from", "node"}, {"uids", base::join(uids, " ")}},
                                    .timeout = labels_timeout},
                                   run.fleet, run.assets);
  if (!answer) return;
  for (auto& [uid, name] : facts::parse_pod_names(answer->out).pods)
    meter.pods.emplace(uid, cluster::UsageHolder{uid, name.ns, name.name, name.kind, name.workload});
}

/// How much pods compute on GPUs that several of them compute on.
void add_utilization(const UsageRun& run, cluster::UsageReadings& readings) {
  const auto gpus = cluster::shared_gpus_in_use(readings);
  if (gpus.empty()) return;
  const auto answer = session::ask(run.host,
                                   {.label = "read the utilization by programs",
                                    .asset = "playbooks/read/gpu-processes.sh",
                                    .timeout = processes_timeout},
                                   run.fleet, run.assets);
  if (!answer || answer->status != 0) return;  // a part of an answer lacks programs
  for (const facts::ProcessUtilization& program : facts::parse_process_utilization(answer->out)) {
    const auto gpu = std::ranges::find(readings.nvidia->gpus, program.gpu, &facts::Gpu::index);
    if (gpu == readings.nvidia->gpus.end() || std::ranges::find(gpus, gpu->uuid) == gpus.end()) continue;
    if (const auto owner = process_owner(program.pid, "/"))
      readings.utilization[gpu->uuid][owner->pod_uid] += program.utilization;
  }
}

}  // namespace

std::map<std::string, cluster::GpuPrograms> gpu_programs(const facts::Nvidia& nvidia,
                                                         const std::filesystem::path& root) {
  std::map<std::string, cluster::GpuPrograms> programs;
  for (const facts::Gpu& gpu : nvidia.gpus)
    for (const facts::GpuProcess& process : gpu.processes) {
      // "C", "M+C" (through MPS), "C+G"; what only draws does not compute.
      if (!process.type.contains('C')) continue;
      const auto owner = process_owner(process.pid, root);
      if (!owner) continue;  // it has ended
      if (owner->pod_uid.empty())
        programs[gpu.uuid].others = true;
      else
        programs[gpu.uuid].pods.insert(owner->pod_uid);
    }
  return programs;
}

std::optional<facts::GpuAllocations> read_allocations(const std::filesystem::path& root) {
  const auto text =
      base::read_file(root / "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint", most_checkpoint);
  if (!text) return std::nullopt;
  auto found = facts::parse_gpu_allocations(*text);
  if (!found) return std::nullopt;
  const auto running = pods_with_groups(root);
  // None at all: the kubelet's groups have another place.
  if (!running.empty())
    for (auto& [uuid, pods] : found->pods)
      std::erase_if(pods, [&](const std::string& uid) { return !running.contains(uid); });
  return std::move(*found);
}

double timer_interval(const std::filesystem::path& root) {
  constexpr std::string_view key = "OnUnitInactiveSec=";
  const std::string unit =
      base::read_file(root / "etc/systemd/system/gpuadm-health.timer", 1u << 16).value_or("");
  for (const std::string_view line : base::lines(unit))
    if (line.starts_with(key))
      if (const auto seconds = base::to_int(line.substr(key.size())); seconds && *seconds > 0)
        return static_cast<double>(*seconds);
  return HealthSettings().interval;
}

NodeUsage read_usage(const UsageRun& run, const facts::Nvidia* nvidia, int gpus,
                     const cluster::HealthState& before) {
  const auto file = run.folder / usage_file;
  std::error_code error;
  if (gpus == 0 && !std::filesystem::exists(file, error)) return {};
  NodeUsage usage{.exists = true, .meter = read_meter(file)};
  const auto allocations = read_allocations("/");
  cluster::UsageReadings readings{
      .nvidia = nvidia, .allocations = allocations ? &*allocations : nullptr, .programs = {}, .gpus = gpus};
  if (nvidia) readings.programs = gpu_programs(*nvidia, "/");
  add_utilization(run, readings);
  usage.parts = cluster::usage_parts(readings, usage.meter.gpus);
  usage.longest = cluster::longest_usage_interval(timer_interval("/"));
  usage.idle = cluster::idle_pods(before.idle, readings, usage.parts, before.last, run.now, usage.longest);
  return usage;
}

base::Result<> record_usage(const UsageRun& run, NodeUsage usage) {
  if (!usage.exists) return {};
  cluster::UsageMeter& meter = usage.meter;
  name_pods(run, usage.parts, meter);
  cluster::add_usage(meter, run.now, usage.parts, usage.longest);
  base::Result<> kept;
  if (const std::string lines = cluster::usage_lines(meter, run.now); !lines.empty()) {
    kept = append_rotated(run.folder, "usage", most_usage, lines);
    if (kept) cluster::drop_written_usage(meter, run.now);
  }
  const auto saved =
      base::write_file(run.folder / usage_file, base::json::write(cluster::to_tree(meter), 0) + "\n");
  return saved ? kept : saved;
}

}  // namespace commands
