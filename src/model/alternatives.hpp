#pragma once

#include "gpuadm/model/fit.hpp"

#include <string>
#include <vector>

namespace model {

/// What would fit instead: another context, fewer sequences, quantized weights, more GPUs, an 8-bit cache.
[[nodiscard]] std::vector<std::string> alternatives_to(const Model& model, const Demand& demand,
                                                       const EngineMemory& engine, const Fit& fit);

}  // namespace model
