#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

int main(int argc, char** argv) {
  ::setenv("GPUADM_TODAY", "2026-11-29", 1);  // no test depends on the day on which it runs
  std::filesystem::current_path(GPUADM_CHECKOUT);
  return doctest::Context(argc, argv).run();
}
