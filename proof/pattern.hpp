#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define PROOF_BOTH __host__ __device__
#else
#define PROOF_BOTH
#endif

/// What the GPU computes with, as the CPU can say it again. Shared by the kernels and the program.
namespace proof {

/// A word that depends on every bit of its index; the finalizer of MurmurHash3, one round.
PROOF_BOTH constexpr std::uint64_t word(std::uint64_t index, std::uint64_t seed) {
  std::uint64_t x = index ^ seed;
  x *= 0xff51afd7ed558ccdULL;
  return x ^ (x >> 33);
}

/// An element of a matrix: -2 to 2, so that products of up to 2^22 of them are exact in 32-bit floats.
PROOF_BOTH constexpr int element(std::uint64_t index, std::uint64_t seed) {
  return static_cast<int>((word(index, seed) >> 20) % 5) - 2;
}

}  // namespace proof
