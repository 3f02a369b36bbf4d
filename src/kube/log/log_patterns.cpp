#include "kube/log/logs.hpp"

namespace kube::pod {

namespace {

constexpr std::string_view upgrade = "gpuadm upgrade --driver {node}, or use an image for an older CUDA";

/// Of a container that requests a GPU, which it can no longer use.
constexpr std::array<Pattern, 4> lost_gpu_patterns = {
    {{{"NVML: Unknown Error"},
      "gpu-access-lost",
      "container {container} lost its access to the GPU: its cgroup no longer allows the device",
      "restart the pod; a systemctl daemon-reload on {node} causes it: gpuadm doctor {node} --only "
      "gpu.driver.dev-char-symlinks"},
     {{"NVML: Driver/library version mismatch"},
      "driver-mismatch",
      "the driver of node {node} was updated while its kernel module stayed loaded",
      "gpuadm doctor {node} --only gpu.driver"},
     {{"NVML: Insufficient Permissions", "NVML: GPU access blocked"},
      "gpu-access-refused",
      "container {container} may not open the GPU that it was given",
      "gpuadm doctor {node} --only gpu,nct"},
     {{"no CUDA-capable device", "CUDA_ERROR_NO_DEVICE", "cudaErrorNoDevice", "No CUDA GPUs are available",
       "Found no NVIDIA driver", "Failed to initialize NVML"},
      "no-cuda-device",
      "container {container} sees no GPU, although it requests one",
      "set runtimeClassName: nvidia if the node has one; gpuadm doctor {node} --only gpu,nct"}}};

/// Of the error, or of the lines before it: what fails in a GPU, a driver or a machine is often reported by
/// another part of the program.
constexpr std::array<Pattern, 22> log_patterns = {
    {{{"GPU is lost", "GPU has fallen off the bus", "Unable to determine the device handle"},
      "gpu-failed",
      "a GPU of node {node} no longer answers",
      "gpuadm doctor {node} --only gpu.health"},
     {{"busy or unavailable", "cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy"},
      "gpu-busy",
      "a GPU of node {node} refuses container {container}: its compute mode is exclusive, or another process "
      "uses it",
      "gpuadm doctor {node} --only gpu; gpuadm gpu top {node}"},
     {{"less than desired GPU memory utilization"},
      "gpu-memory-in-use",
      "other programs hold memory of the GPU that container {container} wants for itself",
      "decrease --gpu-memory-utilization, or end what holds it: gpuadm gpu top {node}"},
     {{"is killed by signal: Killed", "killed due to memory pressure", "exceeded k8s pod memory limits"},
      "killed",
      "a worker process of container {container} was killed, often because memory ran out",
      "increase the memory limit, or use fewer workers of data loaders"},
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
     {{"no CUDA-capable device", "CUDA_ERROR_NO_DEVICE", "cudaErrorNoDevice", "No CUDA GPUs are available",
       "Found no NVIDIA driver", "Failed to initialize NVML"},
      "no-cuda-device",
      "container {container} sees no GPU",
      "request a GPU: resources.limits: {nvidia.com/gpu: 1}, and set runtimeClassName: nvidia"},
     {{"libcuda.so.1: cannot open", "libnvidia-ml.so.1: cannot open",
       "couldn't communicate with the NVIDIA driver"},
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
     {{"uncorrectable ECC error", "cudaErrorECCUncorrectable"},
      "gpu-failed",
      "a GPU of node {node} failed",
      "gpuadm doctor {node} --only gpu.health"},
     {{"CUDA unknown error", "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN"},
      "cuda-not-initialized",
      "CUDA cannot be initialized in container {container}",
      "gpuadm doctor {node} --only gpu.driver"},
     {{"unsupported display driver / cuda driver combination"},
      "driver-mismatch",
      "the image {image} has CUDA libraries that do not fit the driver of node {node}",
      "remove cuda-compat from the image or from LD_LIBRARY_PATH, or gpuadm upgrade --driver {node}"},
     {{"cudaErrorLaunchTimeout", "launch timed out and was terminated", "CUDA_ERROR_LAUNCH_TIMEOUT"},
      "cuda-launch-timeout",
      "a kernel of container {container} ran longer than the driver of node {node} allows: the GPU also has "
      "a "
      "display",
      "end the graphical session of {node}: gpuadm gpu top {node}; or use shorter kernels"},
     {{"Duplicate GPU detected"},
      "gpu-of-two-ranks",
      "two ranks in container {container} use the same GPU",
      "request as many GPUs as ranks, and use the GPU with the number LOCAL_RANK"},
     {{"invalid device ordinal", "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE"},
      "gpu-number",
      "the program in container {container} uses the number of a GPU that the container does not have",
      "request as many GPUs as the program has processes"},
     {{"device-side assert"},
      "cuda-assert",
      "an assertion in a CUDA kernel of container {container} failed, mostly for data out of range: {line}",
      "check labels and indices of the data; CUDA_LAUNCH_BLOCKING=1 names the operation"},
     {{"Stale file handle", "stale NFS file handle"},
      "volume-stale",
      "a volume of container {container} was exported again since it was mounted: {line}",
      "kubectl -n {namespace} delete pod {pod}, so that the next one mounts the volume again"},
     {{"illegal memory access", "unspecified launch failure", "misaligned address",
       "CUDA error:", "ncclUnhandledCudaError", "CUDA runtime error", "CUDA driver error"},
      "cuda-error",
      "the program in container {container} failed with a CUDA error",
      "run it with CUDA_LAUNCH_BLOCKING=1; gpuadm doctor {node} --only gpu.health"},
     {{"No space left on device", "Disk quota exceeded"},
      "volume-full",
      "container {container} found no space left on a volume or its disk",
      "free space on the volume, or increase it"},
     {{"cannot open shared object file", "error while loading shared libraries"},
      "library-missing",
      "the image {image} lacks a library: {line}",
      "install it in the image"},
     {{"nccl*unhandled system error", "ncclSystemError", "nccl*internal error", "nccl*invalid usage",
       "nccl*unhandled cuda error", "ncclRemoteError", "nccl failure"},
      "nccl-error",
      "NCCL failed in container {container}: {line}",
      "read the warning of NCCL in the log: {nccl_warning} || set NCCL_DEBUG=WARN, with which the log names "
      "the reason"}}};

}  // namespace

std::vector<const Pattern*> patterns_of(bool has_gpu) {
  std::vector<const Pattern*> all;
  const auto add = [&](std::span<const Pattern> patterns) {
    for (const Pattern& one : patterns) all.push_back(&one);
  };
  if (has_gpu) add(lost_gpu_patterns);
  add(nccl_patterns());
  add(log_patterns);
  return all;
}

}  // namespace kube::pod
