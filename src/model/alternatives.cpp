#include "model/alternatives.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/model/types.hpp"

#include "model/memory.hpp"
#include "model/remarks.hpp"

#include <fmt/format.h>

#include <array>

namespace model {

namespace {

/// Numbers of GPUs of one machine that are usual.
constexpr std::array gpu_counts = {2, 4, 8, 16};
/// A shorter context is not worth naming.
constexpr std::uint64_t least_context = 1024;

/// The bytes of quantized weights: those of the vocabulary stay as they are, at the input and at the output.
/// Nothing: the number of parameters is unknown.
std::optional<std::uint64_t> quantized(const Model& model, double bytes) {
  if (!model.parameters) return std::nullopt;
  const double kept = 2.0 * static_cast<double>(model.vocabulary) * static_cast<double>(model.hidden);
  const double all = static_cast<double>(*model.parameters);
  if (kept > all) return std::nullopt;
  return static_cast<std::uint64_t>((all - kept) * bytes + kept * 2);
}

}  // namespace

std::vector<std::string> alternatives_to(const Model& model, const Demand& demand, const EngineMemory& engine,
                                         const Fit& fit) {
  const CacheType* cache = find_cache_type(demand.cache_type);
  if (!cache || !model.is_known() || fit.context == 0 || !fit.overhead) return {};
  std::vector<std::string> found;
  const auto sequences = static_cast<std::uint64_t>(fit.concurrency);
  const auto remaining_of = [&](const Memory& memory) {
    return static_cast<double>(fit.available) - static_cast<double>(memory.weights() + memory.overhead());
  };
  const auto fits = [&](const Memory& memory) {
    return remaining_of(memory) > 0 && memory.cache(fit.context, sequences) <= remaining_of(memory);
  };
  const bool divides = why_not_divided(model, engine, fit.gpus).empty();
  const Memory now(model, engine, fit.gpus, *cache);
  if (const double remaining = remaining_of(now); divides && remaining > 0) {
    if (const std::uint64_t shorter = now.longest(remaining, fit.context - 1, sequences);
        shorter >= least_context)
      found.push_back(fmt::format("a context of {} tokens (--context {})", grouped(shorter), shorter));
    const double one = now.cache(fit.context, 1);
    if (const auto fewer = one > 0 ? static_cast<std::uint64_t>(remaining / one) : 0;
        fewer >= 1 && fewer < sequences)
      found.push_back(fmt::format("{} at once (--concurrency {})", grouped(fewer), fewer));
    const char* half = engine.by_heads ? "fp8" : "q8_0";
    const CacheType* smaller = find_cache_type(half);
    const bool native = !demand.capability || !(*demand.capability < smaller->native);
    if (cache->bytes != smaller->bytes && native && fits(Memory(model, engine, fit.gpus, *smaller)))
      found.push_back(fmt::format("a cache of 8 bits (--cache-type {})", half));
  }
  if (divides && model.quantization.empty())
    for (const auto& [name, bytes] :
         {std::pair{"8 bits (fp8)", 1.0}, std::pair{"4 bits (AWQ, GPTQ)", 0.53}}) {
      Model smaller = model;
      const auto size = quantized(model, bytes);
      if (!size || *size >= model.bytes) continue;
      smaller.bytes = *size;
      if (!fits(Memory(smaller, engine, fit.gpus, *cache))) continue;
      found.push_back(fmt::format("weights of {}, about {}", name, base::human_bytes(*size)));
      break;
    }
  for (const int gpus : gpu_counts)
    if (gpus > fit.gpus && why_not_divided(model, engine, gpus).empty() &&
        fits(Memory(model, engine, gpus, *cache))) {
      found.push_back(fmt::format("{} GPUs (--gpus {})", gpus, gpus));
      break;
    }
  return found;
}

}  // namespace model
