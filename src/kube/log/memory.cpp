#include "gpuadm/base/text.hpp"

#include "kube/log/logs.hpp"

#include <algorithm>

namespace kube::pod {

namespace {

/// That some memory could not be allocated.
constexpr std::array<std::string_view, 42> failures = {"out of memory",
                                                       "outofmemory",
                                                       "out_of_memory",
                                                       "memoryerror",
                                                       "bad_alloc",
                                                       "badalloc",
                                                       "cannot allocate",
                                                       "could not allocate",
                                                       "can't allocate",
                                                       "failed to allocate",
                                                       "unable to allocate",
                                                       "not enough memory",
                                                       "insufficient memory",
                                                       "alloc_failed",
                                                       "cudaerrormemoryallocation",
                                                       "oom when allocating",
                                                       "java heap space",
                                                       "gc overhead limit",
                                                       "exceeded memory limit",
                                                       "posix_fallocate",
                                                       "error while creating shared memory",
                                                       "unable to allocate shared memory",
                                                       "out of shared memory",
                                                       "insufficient shared memory",
                                                       "</torch_",
                                                       "/dev/shm/nccl",
                                                       "/dev/shm*no space left",
                                                       "no space left*/dev/shm",
                                                       "memory allocation of*failed",
                                                       "sigbus",
                                                       "bus error",
                                                       "failed to create cublas handle",
                                                       "cudnn_status_not_initialized",
                                                       "cublas_status_not_initialized",
                                                       "without blas support",
                                                       "cuda driver error 2 ",
                                                       "out of resource: shared memory",
                                                       "memory for the cache blocks",
                                                       "than the available kv cache memory",
                                                       "kv cache is needed",
                                                       "can be stored in kv cache",
                                                       "can be stored in the kv cache"};

/// Which memory: the first row that the same message names. `needs_gpu`: the words are also those of
/// frameworks on CPUs.
struct Memory {
  Pattern pattern;
  bool needs_gpu = false;
};

constexpr std::string_view gpu_reason = "gpu-out-of-memory",
                           gpu_what =
                               "the GPU's memory is too small for the program in container {container}",
                           gpu_fix = "{less_gpu_memory}";

constexpr std::array<Memory, 13> memories = {{
    {{{"out of resource: shared memory"},
      "gpu-kernel-too-large",
      "a kernel of container {container} needs more shared memory than the GPUs of node {node} have in a "
      "multiprocessor: {line}",
      "use a newer GPU, or a smaller block size: another attention backend or quantization"}},
    {{{"increase --mem-fraction-static", "increasing --mem-fraction-static"},
      "gpu-memory-for-cache",
      "the part of the GPU's memory that the program in container {container} may use is too small for the "
      "model",
      "increase --mem-fraction-static, decrease the context, or use more GPUs (--tp-size) or a smaller "
      "model"}},
    {{{"no available memory for the cache blocks", "available kv cache memory", "kv cache is needed",
       "can be stored in kv cache", "can be stored in the kv cache", "mem-fraction-static",
       "memory*for*kv cache"},
      "gpu-memory-for-cache",
      "the GPU's memory is too small for the KV cache of the model in container {container}",
      "decrease the context (vLLM: --max-model-len), or use more GPUs (--tensor-parallel-size) or a smaller "
      "model"}},
    {{{"posix_fallocate", "shm_open", "nccl-shm", "/dev/shm", "shared memory", "</torch_", "sigbus",
       "bus error"},
      "shared-memory",
      "container {container} ran out of shared memory: /dev/shm has {shm}",
      "mount an emptyDir with medium: Memory at /dev/shm; notebooks and training jobs of gpuadm: --shm 8Gi"}},
    {{{"ibv_", "memlock", "libibverbs", "mlx5", "mlockall", "ibvwrap"},
      "locked-memory",
      "container {container} may not lock as much memory as InfiniBand needs: {line}",
      "set LimitMEMLOCK=infinity for the container runtime of {node}: gpuadm doctor {node} --only "
      "rdma.memlock"}},
    {{{"javascript heap", "reached heap limit"},
      "heap-limit",
      "JavaScript in container {container} reached the limit of its heap",
      "set NODE_OPTIONS=--max-old-space-size=MEBIBYTES, less than the memory limit of the container"}},
    {{{"cpuallocator", "cudahostalloc", "cudamallochost", "pin_memory", "cudahostregister", "numpy"},
      "out-of-memory",
      "container {container} could not allocate memory",
      "increase resources.limits.memory of container {container}"}},
    {{{"cudnn_status_not_initialized", "cublas_status_not_initialized", "cublas handle",
       "without blas support"},
      gpu_reason,
      "a CUDA library cannot be initialized in container {container}, mostly because the GPU's memory is in "
      "use",
      gpu_fix}},
    {{{"cuda", "cublas", "cudnn", "cufft", "cusolver", "cusparse", "cupy", "rmm failure"},
      gpu_reason,
      gpu_what,
      gpu_fix}},
    {{{"on gpu", "gpu memory", "gpu_", "gpu:", "prefill tokens", "on device", "device memory", "vram"},
      gpu_reason,
      gpu_what,
      gpu_fix}},
    {{{"java heap", "gc overhead", "java.lang.outofmemory"},
      "heap-limit",
      "Java in container {container} reached the limit of its heap",
      "increase -Xmx (Spark: spark.executor.memory, spark.driver.memory), and the memory limit of the "
      "container with it"}},
    {{{"resource_exhausted", "resourceexhausted", "xla", "jax", "hip error", "oom when allocating", "gpu"},
      gpu_reason,
      gpu_what,
      gpu_fix},
     true},
    {{{},
      "out-of-memory",
      "container {container} could not allocate memory",
      "increase resources.limits.memory of container {container}"}},
}};

}  // namespace

const Pattern* memory_pattern(std::string_view message, bool has_gpu) {
  const std::string text = base::lower(message);
  const auto is_in = [&](std::string_view part) { return !part.empty() && has_part(text, part); };
  // A library with thread-local data that was loaded too late.
  if (std::ranges::none_of(failures, is_in) || text.contains("static tls block")) return nullptr;
  for (const Memory& memory : memories) {
    if (memory.needs_gpu && !has_gpu) continue;
    const bool is_last = &memory == &memories.back();
    if (is_last || std::ranges::any_of(memory.pattern.parts, is_in)) return &memory.pattern;
  }
  return nullptr;
}

}  // namespace kube::pod
