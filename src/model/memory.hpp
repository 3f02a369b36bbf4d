#pragma once

#include "gpuadm/model/fit.hpp"
#include "gpuadm/model/types.hpp"

#include <cstdint>
#include <optional>

namespace model {

/// The memory of one GPU for a model on `gpus` GPUs with one engine. All divisions are rounded up.
class Memory {
 public:
  Memory(const Model& model, const EngineMemory& engine, int gpus, const CacheType& cache);

  [[nodiscard]] std::uint64_t weights() const;
  /// For sequences of `context` tokens. Layers with a window store at most the window and one batch
  /// (SlidingWindowSpec.max_memory_usage_bytes of vLLM; llama_kv_cache_iswa of llama.cpp).
  [[nodiscard]] double cache(std::uint64_t context, std::uint64_t sequences) const;
  /// Of a sequence, before a window is full.
  [[nodiscard]] double bytes_per_token() const;
  /// Activations of one step, logits and what is fixed. The feed-forward part has two vectors of its size,
  /// and the product of them; attention and residuals four of a token's size.
  [[nodiscard]] std::uint64_t overhead() const;
  /// The longest context, up to `most`, whose sequences fit into `room` bytes; 0: none.
  [[nodiscard]] std::uint64_t longest(double room, std::uint64_t most, std::uint64_t sequences) const;

 private:
  const Model& model_;
  const EngineMemory& engine_;
  int gpus_;
  double number_;  ///< bytes of a number in the cache
};

}  // namespace model
