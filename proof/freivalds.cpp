#include "freivalds.hpp"

#include "pattern.hpp"

namespace proof {

std::optional<std::uint64_t> wrong_row(const std::vector<float>& product, std::uint64_t n) {
  for (const std::uint64_t flip : {0, 1}) {
    const auto chosen = [&](std::uint64_t i) { return (word(i, 17) >> 40 & 1) == flip; };
    std::vector<std::int64_t> right(n);
    for (std::uint64_t row = 0; row < n; ++row)
      for (std::uint64_t i = 0; i < n; ++i)
        if (chosen(i)) right[row] += element(row * n + i, right_seed);
    for (std::uint64_t row = 0; row < n; ++row) {
      // What is right are whole numbers that a double holds exactly; a fraction is seen, and no number equals
      // NaN.
      std::int64_t wanted = 0;
      double seen = 0;
      for (std::uint64_t i = 0; i < n; ++i) {
        wanted += element(row * n + i, left_seed) * right[i];
        if (chosen(i)) seen += static_cast<double>(product[row * n + i]);
      }
      if (seen != static_cast<double>(wanted)) return row;
    }
  }
  return std::nullopt;
}

}  // namespace proof
