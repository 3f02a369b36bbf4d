#include "freivalds.hpp"
#include "kernels.hpp"
#include "steps.hpp"

#include <algorithm>
#include <cmath>

namespace proof {
namespace {

constexpr double enough_seconds = 1;  // of products, for a clock that has settled
constexpr unsigned tile = 128, threads = 256;

/// CUDA cores a multiprocessor: CUDA C++ programming guide, arithmetic throughput of 32-bit floats.
int cores(int major, int minor) {
  switch (major) {
    case 6:
      return minor == 0 ? 64 : 128;
    case 7:
      return 64;
    case 8:
      return minor == 0 ? 64 : 128;
    default:
      return 128;
  }
}

struct Kernels {
  const char* ptx;
  const char* fill;
  const char* multiply;
  std::size_t size;  ///< bytes an element
};

double teraflops(const cuda::Gpu& gpu, const Kernels& kernels) {
  gpu.make_current();
  const cuda::Module module(kernels.ptx);
  const bool large = gpu.free_memory() > std::size_t{4} << 30;
  const std::uint64_t n = large ? 8192 : 2048;
  std::uint64_t count = n * n;
  const cuda::Memory left(count * kernels.size), right(count * kernels.size), product(count * sizeof(float));
  const unsigned blocks = static_cast<unsigned>(gpu.attribute(cuda::Attribute::multiprocessors)) * 8;
  for (const auto& [matrix, seed] : {std::pair{&left, left_seed}, std::pair{&right, right_seed}}) {
    cuda::Pointer at = matrix->at();
    std::uint64_t with = seed;
    module.start(kernels.fill, blocks, 1, threads, {&at, &count, &with});
  }
  cuda::Pointer a = left.at(), b = right.at(), c = product.at();
  int side = static_cast<int>(n);
  const auto multiply = [&](int times) {
    const cuda::Stopwatch watch;
    for (int i = 0; i < times; ++i)
      module.start(kernels.multiply, side / tile, side / tile, threads, {&a, &b, &c, &side});
    return watch.seconds();
  };
  multiply(1);
  const int times = std::clamp(static_cast<int>(enough_seconds / std::max(multiply(1), 1e-6)), 1, 10000);
  const double seconds = multiply(times);
  std::vector<float> result(count);
  cuda::to_host(result.data(), c, count * sizeof(float));
  if (const auto row = wrong_row(result, n))
    throw cuda::Broken("the product of two matrices is wrong in row " + std::to_string(*row));
  return 2.0 * std::pow(static_cast<double>(n), 3) * times / seconds / 1e12;
}

}  // namespace

Figures floats(const cuda::Gpu& gpu) {
  const double seen = teraflops(gpu, {floats_ptx, "fill_floats", "multiply_floats", sizeof(float)});
  const int a_multiprocessor = cores(gpu.attribute(cuda::Attribute::compute_capability_major),
                                     gpu.attribute(cuda::Attribute::compute_capability_minor));
  const double ceiling = 2e3 * gpu.attribute(cuda::Attribute::clock_khz) *
                         gpu.attribute(cuda::Attribute::multiprocessors) * a_multiprocessor / 1e12;
  return {{"tflops", seen}, {"ceilingTflops", ceiling}};
}

Figures halves(const cuda::Gpu& gpu) {
  if (gpu.attribute(cuda::Attribute::compute_capability_major) < 7) return {};
  return {{"tflops", teraflops(gpu, {halves_ptx, "fill_halves", "multiply_halves", 2})}};
}

}  // namespace proof
