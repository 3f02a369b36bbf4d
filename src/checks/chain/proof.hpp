#pragma once

#include "gpuadm/checks/chain.hpp"

/// Whether GPUs that were proven do what they should: right, and as fast as their model is known to be.
namespace checks {

/// The first thing that is wrong: a step that failed, or a figure below its floor (data/gpu-floors.csv).
/// Empty where nothing is.
[[nodiscard]] std::string wrong_in(const facts::Proof& proof, const Floors& floors);
/// "2 × NVIDIA H200: memory 4300 and 4440 GB/s, …"; of several the lowest.
[[nodiscard]] std::string figures_of(const std::vector<facts::ProofGpu>& gpus);

}  // namespace checks
