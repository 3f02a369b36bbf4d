#pragma once

#include "gpuadm/model/fit.hpp"

#include <string>
#include <vector>

namespace model {

/// Why an engine cannot divide the model among so many GPUs; empty: it can, or how is unknown.
[[nodiscard]] std::string why_not_divided(const Model& model, const EngineMemory& engine, int gpus);

/// Whether the type of the cache is left to the engine, and the files of the model want one.
[[nodiscard]] bool wants_cache_type(const Model& model, const Demand& demand);

/// Types that the GPU lacks, the driver, the disk, the host's memory, /dev/shm, the context.
[[nodiscard]] std::vector<Remark> remarks_on(const Model& model, const Demand& demand,
                                             const EngineMemory& engine, const Fit& fit);

/// 32768 as "32,768".
[[nodiscard]] std::string grouped(std::uint64_t number);

}  // namespace model
