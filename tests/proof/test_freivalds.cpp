#include "freivalds.hpp"
#include "pattern.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace {

constexpr std::uint64_t n = 48;

std::vector<float> right_product() {
  std::vector<float> product(n * n);
  for (std::uint64_t row = 0; row < n; ++row)
    for (std::uint64_t column = 0; column < n; ++column) {
      int sum = 0;
      for (std::uint64_t i = 0; i < n; ++i)
        sum +=
            proof::element(row * n + i, proof::left_seed) * proof::element(i * n + column, proof::right_seed);
      product[row * n + column] = static_cast<float>(sum);
    }
  return product;
}

}  // namespace

TEST_CASE("a right product passes, and one wrong element is found wherever it stands") {
  const std::vector<float> product = right_product();
  CHECK(!proof::wrong_row(product, n));
  for (std::uint64_t at = 0; at < n * n; at += 5) {
    CAPTURE(at);
    for (const float wrong : {product[at] + 1, product[at] + 0.25F, std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::infinity()}) {
      std::vector<float> changed = product;
      changed[at] = wrong;
      CHECK(proof::wrong_row(changed, n) == at / n);
    }
  }
}
