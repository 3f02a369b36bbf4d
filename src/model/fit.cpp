#include "gpuadm/model/fit.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/model/types.hpp"

#include "model/alternatives.hpp"
#include "model/memory.hpp"
#include "model/remarks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace model {

namespace {

bool any(const Fit& fit, Remark::Weight weight) {
  return std::ranges::any_of(fit.remarks, [&](const Remark& remark) { return remark.weight == weight; });
}

Verdict verdict_of(const Fit& fit, const Demand& demand) {
  // Whatever is unknown, this is too much already.
  const std::uint64_t known = fit.weights + fit.cache.value_or(0) + fit.overhead.value_or(0);
  if (demand.memory_total > 0 && known > fit.available) return Verdict::does_not_fit;
  if (any(fit, Remark::Weight::blocks)) return Verdict::does_not_fit;
  if (any(fit, Remark::Weight::unknown) || !fit.cache || !fit.overhead) return Verdict::unknown;
  return Verdict::fits;
}

void enter_most(Fit& fit, const Model& model, const Memory& memory) {
  const double remaining =
      static_cast<double>(fit.available) - static_cast<double>(fit.weights + fit.overhead.value_or(0));
  const std::uint64_t most = model.context > 0 ? model.context : fit.context;
  if (remaining <= 0 || most == 0) return;
  fit.most_context = memory.longest(remaining, most, 1);
  if (fit.most_context == 0) return;
  const double one = memory.cache(fit.most_context, 1);
  fit.most_concurrency = one > 0 ? static_cast<std::uint64_t>(remaining / one) : 0;
}

/// "auto" is what the files of the model want, if the engine takes that.
Demand resolved(const Model& model, const Demand& demand, const EngineMemory& engine) {
  Demand all = demand;
  if (wants_cache_type(model, demand) && find_cache_type(model.cache_type) &&
      std::ranges::find(engine.cache_methods, model.cache_method) != engine.cache_methods.end())
    all.cache_type = model.cache_type;
  return all;
}

}  // namespace

bool wants_cache_type(const Model& model, const Demand& demand) {
  return !model.cache_type.empty() && (demand.cache_type.empty() || demand.cache_type == "auto");
}

Fit fit(const Model& model, const Demand& asked) {
  Fit fit;
  fit.engine = asked.engine.empty() ? std::string(default_engine(model)) : asked.engine;
  fit.gpus = std::max(asked.gpus, 1);
  fit.concurrency = std::max(asked.concurrency, 1);
  fit.context = asked.context > 0 ? asked.context : model.context;
  fit.free = std::min(asked.memory_free.value_or(asked.memory_total), asked.memory_total);
  fit.disk = model.stored;
  fit.host_memory = model.largest_file;
  fit.weights = model.bytes / static_cast<std::uint64_t>(fit.gpus);
  fit.available = fit.free;
  const EngineMemory* engine = find_engine(fit.engine);
  if (!engine) {
    fit.remarks.push_back(
        {Remark::Weight::unknown,
         fmt::format("the memory that the engine {} needs is unknown", base::printable(fit.engine, 60)),
         {}});
    fit.verdict = verdict_of(fit, asked);
    return fit;
  }
  const Demand demand = resolved(model, asked, *engine);
  const auto usable = static_cast<std::uint64_t>(static_cast<double>(demand.memory_total) * engine->usable);
  fit.available = std::min(fit.free, usable);
  fit.shm = fit.gpus > 1 ? engine->shm : 0;
  const CacheType* type = find_cache_type(demand.cache_type);
  const Memory memory(model, *engine, fit.gpus, type ? *type : cache_types[0]);
  fit.weights = memory.weights();
  const bool has_sizes = model.hidden > 0 && model.intermediate > 0 && model.vocabulary > 0;
  if (has_sizes || engine->batch == 0) fit.overhead = memory.overhead();
  if (model.is_known() && !model.cache.empty()) {
    fit.bytes_per_token = memory.bytes_per_token();
    // More than any memory; a larger number would not fit into 64 bits.
    constexpr double most_bytes = 9e18;
    // Its type is unknown.
    const bool is_open = wants_cache_type(model, demand);
    if (is_open) fit.bytes_per_token.reset();
    if (fit.context > 0 && !is_open)
      fit.cache = static_cast<std::uint64_t>(std::min(
          std::ceil(memory.cache(fit.context, static_cast<std::uint64_t>(fit.concurrency))), most_bytes));
  }
  fit.remarks = remarks_on(model, demand, *engine, fit);
  fit.verdict = verdict_of(fit, demand);
  if (fit.cache && fit.available > 0) enter_most(fit, model, memory);
  if (fit.verdict == Verdict::does_not_fit && fit.available > 0)
    fit.alternatives = alternatives_to(model, demand, *engine, fit);
  return fit;
}

}  // namespace model
