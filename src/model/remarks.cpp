#include "model/remarks.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/model/types.hpp"

#include "model/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace model {

namespace {

using Weight = Remark::Weight;

class Remarks {
 public:
  Remarks(const Model& model, const Demand& demand, const EngineMemory& engine, const Fit& fit)
      : model_(model), demand_(demand), engine_(engine), fit_(fit) {}

  std::vector<Remark> all() {
    if (!model_.is_known()) add(Weight::unknown, fmt::format("the cache is unknown: {}", model_.unknown));
    if (model_.is_assumed)
      add(Weight::warns,
          fmt::format("gpuadm does not know the architecture {}: its cache is computed from the heads "
                      "that config.json names",
                      base::printable(model_.architecture, 80)));
    weights();
    sizes();
    cache_type();
    chunks();
    divide();
    types();
    driver();
    context();
    free_memory();
    host();
    return std::move(remarks_);
  }

 private:
  void add(Weight weight, std::string what, std::string fix = {}) {
    remarks_.push_back({weight, std::move(what), std::move(fix)});
  }

  void weights() {
    if (!model_.weights_read)
      add(Weight::warns, "the weights were not read: their size is the total_size of the index");
  }

  /// What the memory for computing follows from.
  void sizes() {
    if (fit_.overhead) return;
    std::vector<std::string> missing;
    if (model_.hidden == 0) missing.emplace_back("the size of a token's vector");
    if (model_.intermediate == 0) missing.emplace_back("the size of the feed-forward part");
    if (model_.vocabulary == 0) missing.emplace_back("the vocabulary");
    if (!missing.empty())
      add(Weight::unknown, fmt::format("the files do not name {}: what {} needs to compute is unknown",
                                       base::join(missing, ", "), engine_.name));
  }

  void cache_type() {
    if (wants_cache_type(model_, demand_))
      add(Weight::unknown,
          fmt::format("the model wants a cache of {}, and gpuadm does not know whether {} uses that",
                      model_.cache_type, engine_.name),
          "--cache-type fp8, or f16");
  }

  /// VllmConfig of vLLM (vllm/config/vllm.py, attention_chunk_size): the hybrid cache manager, which stores
  /// only the window, is off for such models in older versions, and with speculative decoding by EAGLE.
  void chunks() {
    Model whole = model_;
    int layers = 0;
    for (CacheLayers& one : whole.cache) {
      if (!one.chunked) continue;
      layers += one.layers;
      one.window = 0;
    }
    if (layers == 0 || engine_.name != "vllm" || !fit_.cache || demand_.memory_total == 0) return;
    const CacheType* type = find_cache_type(demand_.cache_type);
    const Memory memory(whole, engine_, fit_.gpus, type ? *type : cache_types[0]);
    const double cache = memory.cache(fit_.context, static_cast<std::uint64_t>(fit_.concurrency));
    if (static_cast<double>(fit_.weights + fit_.overhead.value_or(0)) + cache <=
        static_cast<double>(fit_.available))
      return;
    add(Weight::unknown,
        fmt::format("older versions of vLLM store all tokens in {} layers that attend to chunks: their cache "
                    "would be {}",
                    layers, base::human_bytes(static_cast<unsigned long long>(std::min(cache, 9e18)))),
        "VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE=1");
  }

  void divide() {
    if (const std::string why = why_not_divided(model_, engine_, fit_.gpus); !why.empty())
      add(Weight::blocks, why, "use a number of GPUs that divides the heads");
  }

  /// llama.cpp converts what the GPU lacks; types of GGUF are computed on every GPU.
  void types() {
    if (!engine_.by_heads) return;
    for (const std::string& name : {model_.type, model_.compute == model_.type ? "" : model_.compute}) {
      if (name.empty()) continue;
      const WeightType* type = find_weight_type(name);
      if (!type && model_.format == Format::safetensors)
        add(Weight::unknown, fmt::format("gpuadm does not know which GPUs compute with the type {}",
                                         base::printable(name, 40)));
      if (!type || type->least.major == 0) continue;
      if (!demand_.capability) {
        add(Weight::unknown,
            fmt::format("the weights are {}, and the GPU's compute capability is unknown", name));
        continue;
      }
      const std::string has = demand_.capability->minor_text();
      const std::string gpu = demand_.gpu.empty() ? "the GPU" : base::printable(demand_.gpu, 80);
      if (*demand_.capability < type->least)
        add(Weight::blocks,
            fmt::format("{} lacks {}: its compute capability is {}, needed is {}", gpu, name, has,
                        type->least.minor_text()),
            name == "bf16" ? "use float16: --dtype half" : "use weights of 16 bits");
      else if (*demand_.capability < type->native)
        add(Weight::warns,
            fmt::format("{} lacks {} arithmetic: its compute capability is {}, needed is {}; the engine "
                        "converts the weights to 16 bits while it computes",
                        gpu, name, has, type->native.minor_text()));
    }
    const CacheType* cache = find_cache_type(demand_.cache_type);
    if (!cache)
      add(Weight::blocks,
          fmt::format("the cache type {} is unknown", base::printable(demand_.cache_type, 40)),
          "--cache-type auto");
    else if (cache->native.major > 0 && demand_.capability && *demand_.capability < cache->native)
      add(Weight::blocks,
          fmt::format("the GPU lacks the cache type {}: its compute capability is {}, needed is {}",
                      cache->name, demand_.capability->minor_text(), cache->native.minor_text()),
          "--cache-type auto");
  }

  void driver() {
    if (demand_.image_cuda.empty()) return;
    const auto needed = base::Version::parse(demand_.needed_driver),
               has = base::Version::parse(demand_.driver);
    if (!needed || !has)
      add(Weight::unknown, fmt::format("whether the driver runs CUDA {} of the image is unknown",
                                       base::printable(demand_.image_cuda, 20)));
    else if (*has < *needed)
      add(Weight::blocks,
          fmt::format("the image has CUDA {}, which needs driver {}; the host has {}",
                      base::printable(demand_.image_cuda, 20), demand_.needed_driver,
                      base::printable(demand_.driver, 20)),
          "use an image with an older CUDA, or upgrade the driver");
  }

  void context() {
    if (model_.context == 0)
      add(fit_.context == 0 ? Weight::unknown : Weight::warns,
          "the model does not say the context it was trained for",
          fit_.context == 0 ? "--context TOKENS" : "");
    else if (fit_.context > model_.context)
      add(Weight::blocks,
          fmt::format("the context of {} tokens is longer than the {} that the model was trained for",
                      grouped(fit_.context), grouped(model_.context)),
          fmt::format("--context {}", model_.context));
  }

  void free_memory() {
    if (demand_.memory_total == 0) {
      add(Weight::unknown, "the memory of the GPUs is unknown", "name a host, or --gpu-memory SIZE");
      return;
    }
    const auto wanted =
        static_cast<std::uint64_t>(static_cast<double>(demand_.memory_total) * engine_.usable);
    if (engine_.usable >= 1 || fit_.free >= wanted) return;
    add(Weight::warns,
        fmt::format("{} of the GPU are free, and {} would take {}: it does not start with its defaults",
                    base::human_bytes(fit_.free), engine_.name, base::human_bytes(wanted)),
        fmt::format("{} {:.2f}", engine_.reduce,
                    static_cast<double>(fit_.free) / static_cast<double>(demand_.memory_total) - 0.005));
  }

  void host() {
    if (demand_.host_memory && *demand_.host_memory < fit_.host_memory)
      add(Weight::warns,
          fmt::format("the host has {} of memory, and the largest file has {}: loading will be slow",
                      base::human_bytes(*demand_.host_memory), base::human_bytes(fit_.host_memory)));
    if (demand_.shm && *demand_.shm < fit_.shm)
      add(Weight::blocks,
          fmt::format("/dev/shm has {}, and {} GPUs need {}", base::human_bytes(*demand_.shm), fit_.gpus,
                      base::human_bytes(fit_.shm)),
          "mount an emptyDir with medium: Memory at /dev/shm");
  }

  const Model& model_;
  const Demand& demand_;
  const EngineMemory& engine_;
  const Fit& fit_;
  std::vector<Remark> remarks_ = {};
};

}  // namespace

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t place = text.size(); place > 3;) text.insert(place -= 3, ",");
  return text;
}

/// vLLM: "Total number of attention heads must be divisible by tensor parallel size"
/// (vllm/config/model.py, verify_with_parallel_config); heads for keys and values are divided, or copied
/// (QKVParallelLinear: one of both numbers divides the other).
std::string why_not_divided(const Model& model, const EngineMemory& engine, int gpus) {
  if (gpus <= 1 || model.heads == 0) return {};
  if (!engine.by_heads)
    return gpus <= model.layers + 1 || model.layers == 0
               ? ""
               : fmt::format("{} GPUs cannot share {} layers", gpus, model.layers);
  if (model.heads % gpus != 0)
    return fmt::format("{} attention heads cannot be divided among {} GPUs", model.heads, gpus);
  if (model.kv_rank > 0 || model.kv_heads == 0) return {};
  const bool divides = model.kv_heads >= gpus ? model.kv_heads % gpus == 0 : gpus % model.kv_heads == 0;
  return divides ? ""
                 : fmt::format("{} heads for keys and values cannot be divided among {} GPUs", model.kv_heads,
                               gpus);
}

std::vector<Remark> remarks_on(const Model& model, const Demand& demand, const EngineMemory& engine,
                               const Fit& fit) {
  return Remarks(model, demand, engine, fit).all();
}

}  // namespace model
