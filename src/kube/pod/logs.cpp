#include "kube/pod/logs.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace kube::pod {

namespace {

constexpr std::string_view upgrade = "gpuadm upgrade --driver {node}, or use an image for an older CUDA";

constexpr std::array<Pattern, 13> log_patterns = {
    {{{"out of shared memory", "insufficient shared memory", "unable to allocate shared memory(shm)",
       "/dev/shm/nccl", "SIGBUS", "Bus error"},
      "shared-memory",
      "container {container} ran out of shared memory: /dev/shm has {shm}",
      "mount an emptyDir with medium: Memory at /dev/shm; notebooks and training jobs of gpuadm: --shm 8Gi"},
     {{"CUDA driver version is insufficient", "cudaErrorInsufficientDriver",
       "NVIDIA driver on your system is too old", "driver is older than",
       "forward compatibility was attempted", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
      "cuda-driver-too-old",
      "the driver of node {node} is too old for the CUDA in the image {image}",
      upgrade},
     {{"no kernel image is available", "cudaErrorNoKernelImageForDevice",
       "is not compatible with the current PyTorch", "no SASS or PTX", "unsupported gpu architecture",
       "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      "cuda-no-kernel-image",
      "the program in the image {image} was not built for the GPUs of node {node}",
      "use an image whose CUDA and framework support the GPU's compute capability"},
     {{"CUDA out of memory", "torch.OutOfMemoryError", "cudaErrorMemoryAllocation",
       "CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDA_ERROR_OUT_OF_MEMORY"},
      "gpu-out-of-memory",
      "the GPU's memory is too small for the program in container {container}",
      "{less_gpu_memory}"},
     {{"OOM when allocating tensor", "failed to allocate memory on device"},
      "gpu-out-of-memory",
      "the GPU's memory is too small for the program in container {container}",
      "{less_gpu_memory}"},
     {{"no CUDA-capable device", "CUDA_ERROR_NO_DEVICE", "cudaErrorNoDevice", "No CUDA GPUs are available",
       "Found no NVIDIA driver", "Failed to initialize NVML"},
      "no-cuda-device",
      "container {container} sees no GPU",
      "request a GPU: resources.limits: {nvidia.com/gpu: 1}, and set runtimeClassName: nvidia"},
     {{"libcuda.so.1: cannot open", "libnvidia-ml.so.1: cannot open",
       "couldn't communicate with the NVIDIA driver", "Could not find cuda drivers"},
      "no-cuda-device",
      "container {container} has no NVIDIA driver libraries",
      "request a GPU: resources.limits: {nvidia.com/gpu: 1}, and set runtimeClassName: nvidia"},
     {{"not compiled with CUDA enabled", "Torch not compiled with CUDA"},
      "image-without-cuda",
      "the framework in the image {image} was built without CUDA",
      "use an image with CUDA"},
     {{"system not yet initialized", "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY"},
      "fabric-manager",
      "the GPUs of node {node} are not initialized: the fabric manager does not run",
      "gpuadm doctor {node} --only gpu.fabric"},
     {{"uncorrectable ECC error", "GPU is lost", "GPU has fallen off the bus", "cudaErrorDevicesUnavailable",
       "CUDA-capable device(s) is/are busy", "cudaErrorECCUncorrectable"},
      "gpu-failed",
      "a GPU of node {node} failed",
      "gpuadm doctor {node} --only gpu.health"},
     {{"illegal memory access", "unspecified launch failure", "device-side assert", "misaligned address",
       "CUDA error:", "ncclUnhandledCudaError"},
      "cuda-error",
      "the program in container {container} failed with a CUDA error",
      "run it with CUDA_LAUNCH_BLOCKING=1; gpuadm doctor {node} --only gpu.health"},
     {{"Cannot allocate memory", "std::bad_alloc", "MemoryError"},
      "out-of-memory",
      "container {container} could not allocate memory",
      "increase resources.limits.memory of container {container}"},
     {{"No space left on device", "Disk quota exceeded"},
      "volume-full",
      "container {container} found no space left on a volume or its disk",
      "free space on the volume, or increase it"}}};

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

}  // namespace

std::vector<std::string> failed_log(const Container& container) {
  const bool restarted = container.state.kind != "terminated" && !container.previous_log.empty();
  std::vector<std::string> lines = restarted ? container.previous_log : container.log;
  if (const ContainerState* ended = ending(container); ended && lines.empty())
    for (const std::string_view line : base::lines(ended->message)) lines.emplace_back(line);
  return lines;
}

std::string last_line(const Container& container) {
  const auto lines = failed_log(container);
  for (const std::string& line : lines | std::views::reverse)
    if (!base::trim(line).empty()) return brief(line, 160);
  return {};
}

LogReason reason_in_log(const Container& container) {
  const auto lines = failed_log(container);
  for (const Pattern& pattern : log_patterns)
    for (const std::string& line : lines | std::views::reverse)
      if (match({&pattern, 1}, line)) return {&pattern, brief(line, 200)};
  return {};
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
  constexpr std::array<std::string_view, 9> reasons = {
      "cuda-driver-too-old", "cuda-no-kernel-image", "gpu-out-of-memory",
      "no-cuda-device",      "gpu-failed",           "cuda-error",
      "fabric-manager",      "cdi-device-missing",   "nvidia-driver-missing"};
  return std::ranges::find(reasons, reason) != reasons.end();
}

void add_host_facts(const Context& context, const Container& container, PodLink& link) {
  const ContainerState* ended = ending(container);
  if (!context.host || !ended) return;
  const facts::Facts& host = *context.host;
  link.seen.push_back(driver_text(host, context.pod.node));
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
