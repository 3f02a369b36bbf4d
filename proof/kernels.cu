// What runs on the GPU. make-ptx turns it into kernels.ptx and tensor.ptx, which the program carries.
#include "pattern.hpp"

#ifdef PROOF_TENSOR
#include <mma.h>
#endif

namespace {
constexpr int tile = 128;     // of the product, a side; a block of 256 threads makes one
constexpr int threads = 256;
}  // namespace

#ifndef PROOF_TENSOR

extern "C" __global__ void fill(ulonglong2* words, std::uint64_t pairs, std::uint64_t seed) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < pairs; i += step)
    words[i] = make_ulonglong2(proof::word(2 * i, seed), proof::word(2 * i + 1, seed));
}

// found[0]: words that are not what fill wrote; found[1]: the lowest index of one.
extern "C" __global__ void check(const ulonglong2* words, std::uint64_t pairs, std::uint64_t seed,
                                 unsigned long long* found) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < pairs; i += step) {
    const ulonglong2 pair = words[i];
    if (pair.x == proof::word(2 * i, seed) && pair.y == proof::word(2 * i + 1, seed)) continue;
    atomicAdd(found, 1ULL);
    atomicMin(found + 1, static_cast<unsigned long long>(2 * i));
  }
}

extern "C" __global__ void fill_floats(float* elements, std::uint64_t count, std::uint64_t seed) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    elements[i] = static_cast<float>(proof::element(i, seed));
}

// c = a · b, square, row by row; n is a multiple of the tile. Each thread keeps 8 × 8 sums in registers.
extern "C" __global__ __launch_bounds__(threads) void multiply_floats(const float* a, const float* b, float* c, int n) {
  constexpr int depth = 16;
  __shared__ float left[depth][tile + 4];
  __shared__ float right[depth][tile];
  const int row0 = blockIdx.y * tile, column0 = blockIdx.x * tile;
  const int row = threadIdx.x / 16 * 4, column = threadIdx.x % 16 * 4;
  float sums[8][8] = {};
  for (int k0 = 0; k0 < n; k0 += depth) {
    for (int part = threadIdx.x; part < tile * depth / 4; part += threads) {
      const int r = part / (depth / 4), k = part % (depth / 4) * 4;
      const float4 four = *reinterpret_cast<const float4*>(a + static_cast<std::size_t>(row0 + r) * n + k0 + k);
      left[k][r] = four.x;
      left[k + 1][r] = four.y;
      left[k + 2][r] = four.z;
      left[k + 3][r] = four.w;
    }
    for (int part = threadIdx.x; part < tile * depth / 4; part += threads) {
      const int k = part / (tile / 4), x = part % (tile / 4) * 4;
      *reinterpret_cast<float4*>(&right[k][x]) =
          *reinterpret_cast<const float4*>(b + static_cast<std::size_t>(k0 + k) * n + column0 + x);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < depth; ++k) {
      float l[8], r[8];
      *reinterpret_cast<float4*>(l) = *reinterpret_cast<const float4*>(&left[k][row]);
      *reinterpret_cast<float4*>(l + 4) = *reinterpret_cast<const float4*>(&left[k][row + 64]);
      *reinterpret_cast<float4*>(r) = *reinterpret_cast<const float4*>(&right[k][column]);
      *reinterpret_cast<float4*>(r + 4) = *reinterpret_cast<const float4*>(&right[k][column + 64]);
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[i][j] += l[i] * r[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int r = row0 + row + i % 4 + i / 4 * 64;
      *reinterpret_cast<float4*>(c + static_cast<std::size_t>(r) * n + column0 + column + half * 64) =
          make_float4(sums[i][half * 4], sums[i][half * 4 + 1], sums[i][half * 4 + 2], sums[i][half * 4 + 3]);
    }
}

#else

extern "C" __global__ void fill_halves(__half* elements, std::uint64_t count, std::uint64_t seed) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    elements[i] = __int2half_rn(proof::element(i, seed));
}

// The same on tensor cores: halves in, floats out. Each of the 8 warps makes 64 × 32; the next tiles are on their way
// in registers while these are multiplied.
extern "C" __global__ __launch_bounds__(threads) void multiply_halves(const __half* a, const __half* b, float* c, int n) {
  using namespace nvcuda;
  constexpr int depth = 32, pad = 8, parts = tile * depth / 8 / threads;
  __shared__ __align__(32) __half left[tile][depth + pad];
  __shared__ __align__(32) __half right[depth][tile + pad];
  const int row0 = blockIdx.y * tile, column0 = blockIdx.x * tile;
  const int row = threadIdx.x / 32 / 4 * 64, column = threadIdx.x / 32 % 4 * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[4][2];
  for (auto& line : sums)
    for (auto& sum : line) wmma::fill_fragment(sum, 0.0f);
  uint4 next_left[parts], next_right[parts];
  const auto load = [&](int k0) {
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int part = threadIdx.x + p * threads;
      next_left[p] = *reinterpret_cast<const uint4*>(a + static_cast<std::size_t>(row0 + part / (depth / 8)) * n + k0 +
                                                     part % (depth / 8) * 8);
      next_right[p] = *reinterpret_cast<const uint4*>(b + static_cast<std::size_t>(k0 + part / (tile / 8)) * n + column0 +
                                                      part % (tile / 8) * 8);
    }
  };
  load(0);
  for (int k0 = 0; k0 < n; k0 += depth) {
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int part = threadIdx.x + p * threads;
      *reinterpret_cast<uint4*>(&left[part / (depth / 8)][part % (depth / 8) * 8]) = next_left[p];
      *reinterpret_cast<uint4*>(&right[part / (tile / 8)][part % (tile / 8) * 8]) = next_right[p];
    }
    __syncthreads();
    if (k0 + depth < n) load(k0 + depth);
#pragma unroll
    for (int k = 0; k < depth; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> l[4];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> r[2];
#pragma unroll
      for (int i = 0; i < 4; ++i) wmma::load_matrix_sync(l[i], &left[row + i * 16][k], depth + pad);
#pragma unroll
      for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(r[j], &right[k][column + j * 16], tile + pad);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) wmma::mma_sync(sums[i][j], l[i], r[j], sums[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j)
      wmma::store_matrix_sync(c + static_cast<std::size_t>(row0 + row + i * 16) * n + column0 + column + j * 16, sums[i][j],
                              n, wmma::mem_row_major);
}

#endif
