#include "kube/log/logs.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/log_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace kube::pod {

namespace {

/// The first known reason in a text, the memory that it is about before what only names a part of it.
const Pattern* reason_of(std::string_view text, bool has_gpu, LogPart part) {
  const auto find = [&](std::span<const Pattern> patterns) { return match(patterns, text); };
  const Pattern* memory = memory_pattern(text, has_gpu);
  // What NCCL cannot reach is another rank.
  if (const Pattern* found = mentions(text, "nccl") && !memory ? find(nccl_patterns()) : nullptr)
    return found;
  if (part == LogPart::error)
    if (const Pattern* found = find(error_patterns())) return found;
  if (memory) return memory;
  for (const Pattern* one : patterns_of(has_gpu))
    if (find({one, 1})) return one;
  return nullptr;
}

/// The last line of the error's message that names the reason: NCCL says why below its exception.
std::string quoted(const LastError& error, const Pattern& pattern, bool has_gpu) {
  const std::vector<std::string_view> lines = base::lines(error.message);
  for (std::size_t i = lines.size(); i-- > 1;)
    if (const Pattern* one = reason_of(lines[i], has_gpu, LogPart::error);
        one && one->reason == pattern.reason)
      return brief(base::printable(lines[i]), 200);
  return brief(error.text, 200);
}

/// The first line that contains a text; nullptr: none does.
const std::string* find_line(std::span<const std::string> log, std::string_view text) {
  const auto found = std::ranges::find_if(log, [&](const std::string& line) { return line.contains(text); });
  return found == log.end() ? nullptr : &*found;
}

/// Xids that a program causes, not the hardware (NVIDIA's Xid catalog: 13, 31, 43, 45, 68, 69).
constexpr std::array<int, 6> program_xids = {13, 31, 43, 45, 68, 69};

/// Seconds between clocks and logs that still count as the same time.
constexpr double tolerance = 30;

/// The Xids while the container ran, with their times.
std::vector<std::pair<facts::Xid, double>> xids_during(const facts::Facts& host, const ContainerState& ended,
                                                       std::optional<double> started) {
  std::vector<std::pair<facts::Xid, double>> found;
  if (!host.kernel.uptime || !host.clock.probe_begin || !ended.finished) return found;
  const double boot = *host.clock.probe_begin - *host.kernel.uptime;
  for (const facts::Xid& xid : host.nvidia.xids) {
    const double at = boot + xid.seconds;
    if (at >= started.value_or(*ended.finished - 3600) - tolerance && at <= *ended.finished + tolerance)
      found.emplace_back(xid, at);
  }
  return found;
}

std::string driver_text(const facts::Facts& host, const std::string& node) {
  if (!host.nvidia.driver) return fmt::format("node {} has no loaded NVIDIA driver", node);
  return fmt::format("node {} has driver {}{}", node, host.nvidia.driver->version,
                     host.nvidia.driver->cuda ? ", which supports CUDA " + *host.nvidia.driver->cuda : "");
}

/// What of the host explains that a GPU refuses a program: compute modes and other programs.
std::vector<std::string> uses_of_gpus(const facts::Facts& host) {
  constexpr std::size_t most = 3;
  std::vector<std::string> found;
  for (const facts::Gpu& gpu : host.nvidia.gpus) {
    if (gpu.compute_mode && *gpu.compute_mode != "Default" && found.size() < most)
      found.push_back(fmt::format("GPU {} has compute mode {}", gpu.index, brief(*gpu.compute_mode, 40)));
    for (const facts::GpuProcess& one : gpu.processes)
      if (one.type.contains('C') && found.size() < most)
        found.push_back(fmt::format("GPU {} is used by process {} ({})", gpu.index, brief(one.pid, 20),
                                    brief(one.name, 80)));
  }
  return found;
}

/// Device files without links in /dev/char: with them the runtime names the devices to systemd, which
/// otherwise removes them from the cgroup when it reads its units again.
std::vector<std::string> missing_links(const facts::Facts& host) {
  if (!host.nvidia.dev_char || !host.nvidia.dev_char->empty()) return {};
  return {"/dev/char of the node has no links for NVIDIA's devices"};
}

}  // namespace

std::vector<std::string> failed_log(const Container& container) {
  const bool restarted = container.state.kind != "terminated" && !container.previous_log.empty();
  std::vector<std::string> lines = restarted ? container.previous_log : container.log;
  const ContainerState* ended = ending(container);
  const bool is_blank =
      std::ranges::all_of(lines, [](const std::string& one) { return base::trim(one).empty(); });
  if (is_blank && ended && !ended->message.empty()) {
    lines.clear();
    for (const std::string_view line : base::lines(ended->message)) lines.emplace_back(line);
  }
  return lines;
}

bool requests_gpu(const Pod& pod, const Container& container) {
  const auto is_gpu = [](const auto& amount) {
    return amount.first.starts_with("nvidia.com/") && amount.second > 0;
  };
  return !pod.claims.empty() || std::ranges::any_of(container.limits, is_gpu) ||
         std::ranges::any_of(container.requests, is_gpu);
}

LogReason reason_in_log(const Context& context, const Container& container, std::span<const std::string> log,
                        const LastError& error) {
  const bool has_gpu = requests_gpu(context.pod, container);
  const std::size_t past = std::min(error.past, log.size()), begin = std::min(error.begin, past);
  LogReason best;
  if (const Pattern* pattern = reason_of(error.message, has_gpu, LogPart::error))
    best = {pattern, quoted(error, *pattern, has_gpu), true};
  // Other parts of the program may say what is behind a failure of CUDA or NCCL.
  const bool is_general =
      best.pattern && (best.pattern->reason == "cuda-error" || best.pattern->reason == "nccl-error");
  if (best.pattern && best.pattern->reason == "cuda-assert")
    if (const std::string* one = find_line(log, "Assertion `")) best.line = brief(base::printable(*one), 200);
  if (best.pattern && !is_general) return best;
  if (const Pattern* pattern = reason_of(error.is_handled ? "" : error.previous, has_gpu, LogPart::error);
      pattern && !best.pattern)
    return {pattern, brief(error.previous, 200), true};
  const auto may_explain = [](const std::string& line) {
    const Level level = read_log_line(line).level;
    return level != Level::info && level != Level::warning;
  };
  // The reason that comes first in the tables, those of the memory before all others; of several lines the
  // last.
  const auto order = patterns_of(has_gpu);
  const auto place_of = [&](const Pattern* pattern) {
    const auto found = std::ranges::find(order, pattern);
    return found == order.end() ? 0 : found - order.begin() + 1;
  };
  const auto lines = log.subspan(begin, past - begin);
  for (const std::string& line : lines | std::views::reverse | std::views::filter(may_explain))
    if (const Pattern* pattern = reason_of(line, has_gpu, LogPart::lines_before);
        pattern && (!best.pattern || place_of(pattern) < place_of(best.pattern)))
      best = {pattern, brief(base::printable(read_log_line(line).text), 200), best.is_of_error};
  return best;
}

std::string less_gpu_memory(const Context& context) {
  bool is_share = false;
  for (const auto& [resource, amount] : context.pod.requests)
    is_share = is_share || resource.starts_with("nvidia.com/mig-") || resource == "nvidia.com/gpu.shared";
  const auto& nodes = context.view.cluster.nodes;
  if (nodes)
    for (const facts::Node& node : *nodes) {
      const auto replicas = node.labels.find("nvidia.com/gpu.replicas");
      is_share = is_share || (node.name == context.pod.node && replicas != node.labels.end() &&
                              base::to_int(replicas->second).value_or(1) > 1);
    }
  if (is_share) return "reduce the batch size, or use a whole GPU instead of a share";
  // Without the nodes, a share is not distinguished from a whole GPU.
  if (!nodes) return "reduce the batch size, or use more GPU memory";
  return "reduce the batch size, or use a GPU with more memory or several GPUs: the pod has whole GPUs";
}

std::string shared_memory(const Pod& pod, const Container& container) {
  for (const ContainerMount& mount : container.mounts) {
    if (mount.path != "/dev/shm" && mount.path != "/dev/shm/") continue;
    for (const PodVolume& volume : pod.volumes) {
      if (volume.name != mount.volume) continue;
      if (volume.limit) return base::human_bytes(static_cast<unsigned long long>(*volume.limit));
      return volume.type == "Memory" ? "no limit of its own, only the pod's memory limit"
                                     : "a volume of kind " + volume.kind;
    }
  }
  return "64 MiB, the default of container runtimes";
}

bool is_about_gpus(std::string_view reason) {
  constexpr std::array<std::string_view, 14> reasons = {
      "cuda-driver-too-old", "cuda-no-kernel-image", "gpu-out-of-memory", "no-cuda-device",
      "gpu-failed",          "cuda-error",           "fabric-manager",    "cdi-device-missing",
      "gpu-access-lost",     "driver-mismatch",      "gpu-busy",          "nvidia-driver-missing",
      "gpu-access-refused",  "gpu-memory-in-use"};
  return std::ranges::find(reasons, reason) != reasons.end();
}

void add_host_facts(const Context& context, const Container& container, PodLink& link) {
  const ContainerState* ended = ending(container);
  if (!context.host || !ended) return;
  const facts::Facts& host = *context.host;
  link.seen.push_back(driver_text(host, context.pod.node));
  for (std::string& one : link.reason == "gpu-busy" || link.reason == "gpu-memory-in-use" ? uses_of_gpus(host)
                          : link.reason == "gpu-access-lost" ? missing_links(host)
                                                             : std::vector<std::string>())
    link.seen.push_back(std::move(one));
  const auto xids = xids_during(host, *ended, ended->started);
  for (const auto& [xid, at] : xids)
    if (link.seen.size() < 8)
      link.seen.push_back(fmt::format("Xid {} on GPU {} at {}: {}", xid.code, xid.slot,
                                      clock_text(at, context.view.cluster.clock), brief(xid.text, 120)));
  for (const auto& [xid, at] : xids) {
    if (std::ranges::find(program_xids, xid.code) != program_xids.end()) continue;
    link.reason = "xid";
    link.what = fmt::format("GPU {} of node {} reported Xid {} while container {} ran: {}", xid.slot,
                            context.pod.node, xid.code, container.name, brief(xid.text, 120));
    link.fix = fmt::format("gpuadm doctor {} --only gpu.health", context.pod.node);
    return;
  }
}

}  // namespace kube::pod
