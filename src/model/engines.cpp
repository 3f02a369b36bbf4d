#include "gpuadm/model/fit.hpp"

#include <algorithm>
#include <array>

namespace model {

namespace {

constexpr std::uint64_t mib = 1u << 20, gib = 1u << 30;

/// vLLM: 0.9 of the memory is the default (--gpu-memory-utilization; Red Hat AI Inference 3.4, key server
/// arguments). One step computes up to 8,192 tokens on GPUs with 70 GiB and more (--max-num-batched-tokens,
/// default of the API server, vllm/engine/arg_utils.py), and logits of 256 sequences at the first profile
/// (--max-num-seqs; 1,024 on large GPUs): in 16 bits, in 32 bits, and a copy of the sampler. `fixed` is
/// what vLLM measured in addition to weights and activations with Llama 3 8B, 1.79 GiB with the CUDA context
/// (https://github.com/vllm-project/vllm/pull/10511); graphs are 0.1 to 0.6 GiB, and count since v0.21.0.
/// With several GPUs NCCL and the custom all-reduce take another 0.5 GiB each. /dev/shm: the 2Gi of
/// https://docs.vllm.ai/en/stable/deployment/k8s/.
///
/// SGLang: 0.9 for weights and cache (--mem-fraction-static), everything else is in the remaining part
/// (https://docs.sglang.io/docs/advanced_features/server_arguments).
///
/// The type of the cache: vLLM takes that of compressed-tensors (Attention in vllm/model_executor/layers/
/// attention.py, kv_cache_scheme) and of ModelOpt (vllm/utils/torch_utils.py,
/// get_kv_cache_quant_algo_string); SGLang that of ModelOpt (configure_kv_cache_dtype).
///
/// llama.cpp: all of the memory. The compute buffer is that of a micro-batch of 512 tokens (--ubatch-size)
/// with logits of 32 bits: 258.5 MiB for Llama 3 8B, whose vocabulary has 128,256 tokens; the CUDA context
/// has 300 to 500 MiB. Ollama runs llama.cpp.
constexpr std::array engines = {
    EngineMemory{"vllm",
                 0.9,
                 1792 * mib,
                 512 * mib,
                 8192,
                 256,
                 2,
                 10,
                 true,
                 2 * gib,
                 "--gpu-memory-utilization",
                 "--max-model-len",
                 {"compressed-tensors", "modelopt"}},
    EngineMemory{"sglang",
                 0.9,
                 0,
                 0,
                 0,
                 0,
                 0,
                 0,
                 true,
                 2 * gib,
                 "--mem-fraction-static",
                 "--context-length",
                 {"modelopt"}},
    EngineMemory{
        "llama.cpp", 1.0, 500 * mib, 0, 512, 512, 4, 4, false, 0, "--n-gpu-layers", "--ctx-size", {}},
    EngineMemory{"ollama", 1.0, 500 * mib, 0, 512, 512, 4, 4, false, 0, "num_gpu", "num_ctx", {}},
};

}  // namespace

const EngineMemory* find_engine(std::string_view name) {
  const auto* const found = std::ranges::find(engines, name, &EngineMemory::name);
  return found == engines.end() ? nullptr : found;
}

std::string_view default_engine(const Model& model) {
  return model.format == Format::gguf ? "llama.cpp" : "vllm";
}

}  // namespace model
