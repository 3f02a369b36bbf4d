#include "pattern.hpp"
#include "steps.hpp"

#include <algorithm>
#include <cstring>

namespace proof {
namespace {

constexpr std::size_t bytes = 256 << 20;
constexpr int rounds = 8;

double gigabytes_a_second(double seconds) {
  return static_cast<double>(bytes) * rounds / seconds / 1e9;
}

void fill(void* at, std::uint64_t seed) {
  auto* words = static_cast<std::uint64_t*>(at);
  for (std::size_t i = 0; i < bytes / sizeof *words; ++i) words[i] = word(i, seed);
}

void expect_equal(const cuda::Pinned& sent, const cuda::Pinned& come, const char* way) {
  if (std::memcmp(sent.at(), come.at(), bytes) != 0)
    throw cuda::Broken(std::string("what was copied ") + way + " has other bytes than what was sent");
}

}  // namespace

Figures link(const cuda::Gpu& gpu) {
  gpu.make_current();
  const cuda::Pinned sent(bytes), come(bytes);
  const cuda::Memory there(bytes);
  fill(sent.at(), 3);
  cuda::to_device(there.at(), sent.at(), bytes);
  const cuda::Stopwatch up;
  for (int i = 0; i < rounds; ++i) cuda::to_device(there.at(), sent.at(), bytes);
  const double up_seconds = up.seconds();
  const cuda::Stopwatch down;
  for (int i = 0; i < rounds; ++i) cuda::to_host(come.at(), there.at(), bytes);
  const double down_seconds = down.seconds();
  expect_equal(sent, come, "to the GPU and back");
  return {{"toGpuGBs", gigabytes_a_second(up_seconds)}, {"toHostGBs", gigabytes_a_second(down_seconds)}};
}

Figures peer(const cuda::Gpu& from, const cuda::Gpu& to) {
  from.open_way_to(to);
  to.open_way_to(from);
  to.make_current();
  const cuda::Memory there(bytes);
  from.make_current();
  const cuda::Memory here(bytes);
  const cuda::Pinned sent(bytes), come(bytes);
  fill(sent.at(), 5);
  cuda::to_device(here.at(), sent.at(), bytes);
  from.copy_to(to, there.at(), here.at(), bytes);
  const cuda::Stopwatch watch;
  for (int i = 0; i < rounds; ++i) from.copy_to(to, there.at(), here.at(), bytes);
  const double seconds = watch.seconds();
  to.make_current();
  cuda::to_host(come.at(), there.at(), bytes);
  expect_equal(sent, come, "from GPU to GPU");
  return {{"GBs", gigabytes_a_second(seconds)}, {"direct", from.reaches(to) ? 1.0 : 0.0}};
}

}  // namespace proof
