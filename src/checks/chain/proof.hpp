#pragma once

#include "gpuadm/checks/chain.hpp"

/// Whether tested GPUs compute correctly, and as fast as their model is known to be.
namespace checks {

/// The first problem: a failed step, or a figure below its minimum (data/gpu-floors.csv). Empty if there is
/// none.
[[nodiscard]] std::string wrong_in(const facts::Proof& proof, const Floors& floors);
/// "2 × NVIDIA H200: memory 4300 and 4440 GB/s, …"; of several figures the lowest.
[[nodiscard]] std::string figures_of(const std::vector<facts::ProofGpu>& gpus);

}  // namespace checks
