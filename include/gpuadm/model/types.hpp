#pragma once

#include "gpuadm/base/version.hpp"

#include <array>
#include <string_view>

/// Types of numbers: what they take, and which GPUs compute with them.
namespace model {

/// A type of weights. Compute capabilities are from
/// https://docs.nvidia.com/cuda/cuda-c-programming-guide/#arithmetic-instructions (bf16 from 8.0, fp8 from
/// 8.9, fp4 from 10.0); where vLLM starts nevertheless, and converts to 16 bits, from
/// https://docs.vllm.ai/en/v0.14.0/features/quantization/ (Marlin, AWQ, INT8) and
/// https://docs.vllm.ai/en/v0.32.0/features/quantization/llm_compressor/fp8/ (fp8 as weights only from 7.5).
struct WeightType {
  std::string_view name;
  base::Version native;  ///< the first compute capability whose GPUs compute with it; 0.0: all
  base::Version least;   ///< the first one with which vLLM loads it
  double bytes;          ///< of a number, scales included
};

inline constexpr std::array weight_types = {
    WeightType{"f32", {0, 0, -1}, {0, 0, -1}, 4},
    WeightType{"f16", {0, 0, -1}, {0, 0, -1}, 2},
    WeightType{"bf16", {8, 0, -1}, {8, 0, -1}, 2},
    WeightType{"fp8", {8, 9, -1}, {7, 5, -1}, 1},
    WeightType{"int8", {7, 5, -1}, {7, 5, -1}, 1},
    WeightType{"int4", {0, 0, -1}, {7, 5, -1}, 0.53},  // groups of 128 with a scale of 16 bits, a zero of 4
    WeightType{"mxfp4", {10, 0, -1}, {8, 0, -1}, 0.53125},  // 32 numbers and a scale of 8 bits
    WeightType{"nvfp4", {10, 0, -1}, {8, 0, -1}, 0.5625},   // 16 numbers and a scale of 8 bits
};

/// The row of a type, or nullptr: types of GGUF are computed on every GPU.
[[nodiscard]] constexpr const WeightType* find_weight_type(std::string_view name) {
  for (const WeightType& row : weight_types)
    if (row.name == name) return &row;
  return nullptr;
}

/// A type of the cache, as vLLM's --kv-cache-dtype or llama.cpp's --cache-type-k and --cache-type-v name it.
struct CacheType {
  std::string_view name;
  double bytes;          ///< of a number; 0: as the model computes, 16 bits
  base::Version native;  ///< the first compute capability for it
};

/// Sizes of q8_0 and q4_0: 32 numbers and a scale of 16 bits, ggml-common.h of llama.cpp.
inline constexpr std::array cache_types = {
    CacheType{"auto", 0, {0, 0, -1}},         CacheType{"f16", 2, {0, 0, -1}},
    CacheType{"bf16", 2, {8, 0, -1}},         CacheType{"f32", 4, {0, 0, -1}},
    CacheType{"fp8", 1, {8, 9, -1}},          CacheType{"q8_0", 34.0 / 32, {0, 0, -1}},
    CacheType{"q4_0", 18.0 / 32, {0, 0, -1}},
};

/// The row of a cache type; empty: "auto". nullptr: unknown.
[[nodiscard]] constexpr const CacheType* find_cache_type(std::string_view name) {
  if (name.empty()) return cache_types.data();
  for (const CacheType& row : cache_types)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace model
