#include "kube/pod/logs.hpp"

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

/// Of the error itself only: programs report such failures also when they repeat a request and continue.
constexpr std::array<Pattern, 15> error_patterns = {
    {{{"client socket has failed to connect", "client socket has timed out", "Timed out waiting for clients"},
      "rank-unreachable",
      "a rank in container {container} does not reach the other ranks: {line}",
      "gpuadm train check; the ranks must start at the same time"},
     {{"GatedRepo", "gated repo", "awaiting a review"},
      "hub-gated",
      "container {container} may not download from a gated repository",
      "accept its license on the page of the model, and set HF_TOKEN from a Secret"},
     {{"401 Client Error", "HTTP/1.1 401", "401 Unauthorized", "Invalid user token"},
      "download-unauthorized",
      "a server refuses a download of container {container}: 401, it does not accept the login",
      "set a valid token from a Secret (HF_TOKEN of Hugging Face); a repository that does not exist is "
      "answered like this, too"},
     {{"403 Client Error", "403 Forbidden"},
      "download-forbidden",
      "a server refuses a download of container {container}: 403, the login has no access",
      "accept the conditions on the page of the repository, or use a token with read access"},
     {{"429 Client Error", "429 Too Many Requests", "Too Many Requests for url", "status code 429"},
      "download-rate-limit",
      "a server limits the downloads of container {container}: 429, too many requests",
      "set a token (HF_TOKEN), or download once to a volume: gpuadm storage claim"},
     {{"404 Client Error", "RevisionNotFoundError", "EntryNotFoundError"},
      "download-not-found",
      "what container {container} downloads does not exist: 404",
      "correct the name or the revision"},
     {{"CERTIFICATE_VERIFY_FAILED", "certificate verify failed", "SSL certificate problem"},
      "certificate-not-trusted",
      "container {container} does not trust the certificate of a server",
      "add the CA certificate to the image: SSL_CERT_FILE, REQUESTS_CA_BUNDLE"},
     {{"name resolution", "Name or service not known", "Could not resolve host", "dial tcp: lookup",
       "getaddrinfo", "NameResolutionError"},
      "name-not-resolved",
      "container {container} cannot resolve the name of a host: {line}",
      "gpuadm verify; without internet access, read the files from a volume"},
     {{"Network is unreachable", "No route to host", "Connection timed out", "ConnectTimeout",
       "couldn't connect to 'https://", "Max retries exceeded"},
      "server-unreachable",
      "container {container} cannot reach a server: {line}",
      "check its address; gpuadm verify; behind a proxy set HTTPS_PROXY; without internet access, read the "
      "files "
      "from a volume"},
     {{"Permission denied: '", "EACCES: permission denied, ", "cannot create directory"},
      "folder-not-writable",
      "container {container} has no permission for a file or folder: {line}",
      "set HOME, HF_HOME or XDG_CACHE_HOME to a folder of a volume, or securityContext.fsGroup"},
     {{"Read-only file system"},
      "read-only",
      "container {container} writes to a file system that is read-only: {line}",
      "mount a volume at that folder"},
     {{"can't start new thread", "pthread_create failed", "cannot create thread",
       "fork: Resource temporarily"},
      "process-limit",
      "container {container} reached a limit of processes and threads",
      "increase podPidsLimit of the kubelet, or start fewer threads: OMP_NUM_THREADS, workers of data "
      "loaders"},
     {{"Too many open files", "inotify watch limit"},
      "open-files-limit",
      "container {container} reached a limit of open files: {line}",
      "ulimit -n in its command, LimitNOFILE of the container runtime; gpuadm doctor {node} --only kernel"},
     {{"cannot open shared object file", "error while loading shared libraries"},
      "library-missing",
      "the image {image} lacks a library: {line}",
      "install it in the image"},
     {{"exec format error"},
      "exec-format",
      "container {container} has a program for another architecture than node {node}, or a script without an "
      "interpreter",
      "use an image for the architecture of the node"}}};

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
     {{"No available memory for the cache blocks", "than the available KV cache memory", "KV cache is needed",
       "can be stored in KV cache", "can be stored in the KV cache"},
      "gpu-memory-for-cache",
      "the GPU's memory is too small for the KV cache of the model in container {container}",
      "decrease the context (vLLM: --max-model-len), or use more GPUs (--tensor-parallel-size) or a smaller "
      "model"},
     {{"less than desired GPU memory utilization"},
      "gpu-memory-in-use",
      "other programs hold memory of the GPU that container {container} wants for itself",
      "decrease --gpu-memory-utilization, or end what holds it: gpuadm gpu top {node}"},
     {{"is killed by signal: Killed"},
      "killed",
      "a worker process of container {container} was killed, often because memory ran out",
      "increase the memory limit, or use fewer workers of data loaders"},
     {{"out of shared memory", "insufficient shared memory", "</torch_", "/dev/shm/nccl", "SIGBUS",
       "Bus error"},
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
     {{"Duplicate GPU detected"},
      "gpu-of-two-ranks",
      "two ranks in container {container} use the same GPU",
      "request as many GPUs as ranks, and use the GPU with the number LOCAL_RANK"},
     {{"invalid device ordinal", "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE"},
      "gpu-number",
      "the program in container {container} uses the number of a GPU that the container does not have",
      "request as many GPUs as the program has processes"},
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

}  // namespace

std::vector<const Pattern*> patterns_of(bool has_gpu, LogPart part) {
  std::vector<const Pattern*> all;
  const auto add = [&](std::span<const Pattern> patterns) {
    for (const Pattern& one : patterns) all.push_back(&one);
  };
  if (has_gpu) add(lost_gpu_patterns);
  if (part == LogPart::error) add(error_patterns);
  add(log_patterns);
  return all;
}

}  // namespace kube::pod
