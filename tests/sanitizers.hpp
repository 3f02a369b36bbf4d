#pragma once

#include <cstddef>

#ifndef __has_feature
#define __has_feature(name) 0  // only clang has it
#endif

/// With sanitizers an examination takes ten times as long. Tests that try everything in many forms take a
/// sample then; without them they try all.
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
inline constexpr bool with_sanitizers = true;
#else
inline constexpr bool with_sanitizers = false;
#endif

/// Every how many things are tried: `step` with sanitizers, otherwise each.
constexpr std::size_t sample_step(std::size_t step) {
  return with_sanitizers ? step : 1;
}
