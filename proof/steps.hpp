#pragma once

#include "cuda.hpp"

#include <map>
#include <string>
#include <vector>

/// What is proven of a GPU. Each step throws cuda::Broken where the GPU does not do what it should; whether
/// it is fast enough is for the reader of the figures to say.
namespace proof {

using Figures = std::map<std::string, double>;  ///< by name, with the unit at its end

/// Writes a pattern and its complement over most of the free memory and reads both back: bytes, writeGBs,
/// readGBs, and ceilingGBs, what clock and bus of the memory allow.
[[nodiscard]] Figures memory(const cuda::Gpu& gpu);
/// Products of matrices of 32-bit floats, checked by the CPU: tflops, ceilingTflops (cores × clock).
[[nodiscard]] Figures floats(const cuda::Gpu& gpu);
/// The same with 16-bit floats on tensor cores; nothing where the GPU has none: tflops.
[[nodiscard]] Figures halves(const cuda::Gpu& gpu);
/// Copies between the host's memory and the GPU's, compared byte by byte: toGpuGBs, toHostGBs.
[[nodiscard]] Figures link(const cuda::Gpu& gpu);
/// Copies from a GPU to another, compared: GBs, and direct, 1 where it does not go through the host's memory.
[[nodiscard]] Figures peer(const cuda::Gpu& from, const cuda::Gpu& to);

}  // namespace proof
