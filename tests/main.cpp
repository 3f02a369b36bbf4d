#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <filesystem>

int main(int argc, char** argv) {
  std::filesystem::current_path(GPUADM_CHECKOUT);
  return doctest::Context(argc, argv).run();
}
