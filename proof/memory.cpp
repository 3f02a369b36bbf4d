#include "kernels.hpp"
#include "pattern.hpp"
#include "steps.hpp"

#include <array>

namespace proof {
namespace {

constexpr double share = 0.92;  // of the free memory: the driver needs some for itself
constexpr unsigned threads = 256;

double gigabytes_a_second(std::uint64_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds / 1e9;
}

}  // namespace

Figures memory(const cuda::Gpu& gpu) {
  gpu.make_current();
  const cuda::Module module(floats_ptx);
  std::uint64_t pairs = static_cast<std::uint64_t>(static_cast<double>(gpu.free_memory()) * share) / 16;
  const std::uint64_t bytes = pairs * 16;
  const cuda::Memory words(bytes), found(16);
  cuda::Pointer at = words.at(), found_at = found.at();
  const unsigned blocks = static_cast<unsigned>(gpu.attribute(cuda::Attribute::multiprocessors)) * 8;

  double write_seconds = 0, read_seconds = 0;
  for (std::uint64_t seed : {std::uint64_t{0x9e3779b97f4a7c15}, ~std::uint64_t{0x9e3779b97f4a7c15}}) {
    std::array<std::uint64_t, 2> wrong{0, ~std::uint64_t{0}};
    cuda::to_device(found_at, wrong.data(), sizeof wrong);
    const cuda::Stopwatch writing;
    module.start("fill", blocks, 1, threads, {&at, &pairs, &seed});
    write_seconds += writing.seconds();
    const cuda::Stopwatch reading;
    module.start("check", blocks, 1, threads, {&at, &pairs, &seed, &found_at});
    read_seconds += reading.seconds();
    cuda::to_host(wrong.data(), found_at, sizeof wrong);
    if (wrong[0] != 0)
      throw cuda::Broken(std::to_string(wrong[0]) + " of " + std::to_string(pairs) +
                         " 16-byte words of memory do not hold what was written; the first at byte " +
                         std::to_string(wrong[1] * 8));
  }
  // Both edges of the clock carry a bit on each line of the bus.
  const double ceiling = 2e3 * gpu.attribute(cuda::Attribute::memory_clock_khz) *
                         gpu.attribute(cuda::Attribute::memory_bus_bits) / 8 / 1e9;
  return {{"bytes", static_cast<double>(bytes)},
          {"writeGBs", gigabytes_a_second(2 * bytes, write_seconds)},
          {"readGBs", gigabytes_a_second(2 * bytes, read_seconds)},
          {"ceilingGBs", ceiling}};
}

}  // namespace proof
