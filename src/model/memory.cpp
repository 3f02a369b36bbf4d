#include "model/memory.hpp"

#include <algorithm>
#include <cmath>

namespace model {

namespace {

/// vLLM's blocks have 16 tokens; contexts are shown as multiples of 256.
constexpr std::uint64_t step = 256;

}  // namespace

Memory::Memory(const Model& model, const EngineMemory& engine, int gpus, const CacheType& cache)
    : model_(model), engine_(engine), gpus_(std::max(gpus, 1)), number_(cache.bytes > 0 ? cache.bytes : 2) {}

std::uint64_t Memory::weights() const {
  const auto gpus = static_cast<std::uint64_t>(gpus_);
  if (engine_.by_heads || gpus_ == 1 || model_.layers == 0) return (model_.bytes + gpus - 1) / gpus;
  // Whole layers; the output is one more (llama_model::load_tensors).
  const auto layers = static_cast<std::uint64_t>(model_.layers) + 1;
  const std::uint64_t largest = (layers + gpus - 1) / gpus;
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(model_.bytes) *
                                              static_cast<double>(largest) / static_cast<double>(layers)));
}

double Memory::bytes_per_token() const {
  double bytes = 0;
  for (const CacheLayers& layers : model_.cache) bytes += static_cast<double>(layers.values) * layers.layers;
  return bytes * number_;
}

double Memory::cache(std::uint64_t context, std::uint64_t sequences) const {
  double bytes = 0;
  for (const CacheLayers& layers : model_.cache) {
    const std::uint64_t tokens =
        layers.window == 0 ? context : std::min(context, layers.window + engine_.batch);
    double share = static_cast<double>(layers.values) * layers.layers * static_cast<double>(tokens);
    // A head is on one GPU; with more GPUs than heads for keys and values, each has a copy of one.
    if (!engine_.by_heads)
      share *= std::ceil(static_cast<double>(model_.layers) / gpus_) / std::max(model_.layers, 1);
    else if (layers.by_heads)
      share /= std::clamp(gpus_, 1, std::max(model_.kv_heads, 1));
    bytes += share;
  }
  return bytes * number_ * static_cast<double>(sequences);
}

std::uint64_t Memory::overhead() const {
  const double token =
      3.0 * static_cast<double>(model_.intermediate) + 4.0 * static_cast<double>(model_.hidden);
  const double bytes =
      static_cast<double>(engine_.batch) * token * engine_.activation +
      static_cast<double>(engine_.logits) * static_cast<double>(model_.vocabulary) * engine_.logit;
  return static_cast<std::uint64_t>(bytes) + engine_.fixed + (gpus_ > 1 ? engine_.several : 0);
}

std::uint64_t Memory::longest(double room, std::uint64_t most, std::uint64_t sequences) const {
  if (cache(most, sequences) <= room) return most;
  std::uint64_t fits = 0, too_long = most / step + 1;
  while (too_long - fits > 1) {
    const std::uint64_t middle = fits + (too_long - fits) / 2;
    (cache(middle * step, sequences) <= room ? fits : too_long) = middle;
  }
  return fits * step;
}

}  // namespace model
