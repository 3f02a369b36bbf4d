#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace proof {

/// What the elements of the two factors are made from: pattern.hpp.
constexpr std::uint64_t left_seed = 11, right_seed = 13;

/// The first row in which an n × n matrix is not the product of the two factors, by Freivalds' check: C·x
/// against A·(B·x) for a vector x of zeroes and ones. One wrong element is missed where x is zero, so both x
/// and its complement are taken.
[[nodiscard]] std::optional<std::uint64_t> wrong_row(const std::vector<float>& product, std::uint64_t n);

}  // namespace proof
