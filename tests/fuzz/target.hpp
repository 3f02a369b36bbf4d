#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// What a target does with one input. It must not crash, leak, or run into undefined behavior, whatever the
/// input is.
void try_input(std::string_view input);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
