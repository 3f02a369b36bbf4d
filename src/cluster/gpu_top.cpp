#include "gpuadm/cluster/gpu_top.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace cluster {

namespace {

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

TopProgram program_of(const facts::GpuProgram& program,
                      const std::map<std::string, facts::PodName, std::less<>>& pods) {
  TopProgram top{.pid = program.pid,
                 .name = program.name,
                 .used_mib = program.used_mib,
                 .pod = {},
                 .kind = {},
                 .workload = {},
                 .container = program.container};
  if (program.pod_uid.empty()) return top;
  const auto pod = pods.find(program.pod_uid);
  top.pod = pod == pods.end() ? "pod " + program.pod_uid : pod->second.ns + "/" + pod->second.name;
  if (pod == pods.end() || pod->second.kind.empty() || pod->second.workload.empty()) return top;
  top.kind = pod->second.kind;
  top.workload = pod->second.workload;
  return top;
}

/// The labels of the pods that have a GPU.
std::vector<std::string> labels_of(const std::vector<std::string>& uids,
                                   const std::map<std::string, facts::PodName, std::less<>>& pods) {
  std::vector<std::string> labels;
  for (const std::string& uid : uids) {
    facts::GpuProgram of_pod;
    of_pod.pod_uid = uid;
    labels.push_back(program_of(of_pod, pods).label());
  }
  std::ranges::sort(labels);
  labels.erase(std::ranges::unique(labels).begin(), labels.end());
  return labels;
}

using Value = std::optional<double> facts::GpuReading::*;

Value value_of(TopSort by) {
  switch (by) {
    case TopSort::memory:
      return &facts::GpuReading::used_mib;
    case TopSort::power:
      return &facts::GpuReading::power;
    case TopSort::temperature:
      return &facts::GpuReading::temperature;
    case TopSort::node:
    case TopSort::utilization:
      break;
  }
  return &facts::GpuReading::utilization;
}

}  // namespace

std::string TopProgram::label() const {
  if (!workload.empty()) return kind + "/" + workload;
  if (!pod.empty()) return pod;
  if (!container.empty()) return "container " + container.substr(0, 12);
  return fmt::format("{} (pid {})", name.empty() ? "unknown" : base_name(name), pid);
}

void add(TopFrame& frame, const TopSource& source,
         const std::map<std::string, facts::PodName, std::less<>>& pods) {
  if (source.sample && !source.sample->has_smi && !source.silent_seconds) {
    frame.hosts.push_back({source.host, TopHost::State::no_smi, 0, "nvidia-smi was not found"});
    return;
  }
  if (source.silent_seconds || !source.sample) {
    const bool answered = source.sample && !source.sample->failure.empty() && !source.sample->hangs &&
                          source.problem == source.sample->failure;
    frame.hosts.push_back({source.host, answered ? TopHost::State::failed : TopHost::State::silent,
                           source.silent_seconds.value_or(0),
                           source.problem.empty() ? "no answer yet" : source.problem});
    return;
  }
  for (const facts::GpuReading& reading : source.sample->gpus) {
    TopGpu& gpu = frame.gpus.emplace_back();
    gpu.host = source.host;
    gpu.reading = reading;
    gpu.reading.programs.clear();
    gpu.reading.reserved.clear();
    gpu.reserved = labels_of(reading.reserved, pods);
    gpu.programs_read = source.sample->programs_read;
    for (const facts::GpuProgram& program : reading.programs)
      gpu.programs.push_back(program_of(program, pods));
  }
  if (!source.sample->warning.empty())
    frame.hosts.push_back({source.host, TopHost::State::partial, 0, source.sample->warning});
}

void sort(TopFrame& frame, TopSort by) {
  const auto place = [](const TopGpu& gpu) { return std::tie(gpu.host, gpu.reading.index); };
  std::ranges::stable_sort(frame.gpus, std::less<>(), place);
  std::ranges::stable_sort(frame.hosts, std::less<>(), &TopHost::host);
  if (by == TopSort::node) return;
  const Value value = value_of(by);
  std::ranges::stable_sort(frame.gpus, std::greater<>(),
                           [value](const TopGpu& gpu) { return (gpu.reading.*value).value_or(-1); });
}

}  // namespace cluster
