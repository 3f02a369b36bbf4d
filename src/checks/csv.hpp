#pragma once

#include "gpuadm/base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace checks {

/// The rows of a CSV text below its header. Strict: the header must be `header`, every row must have as many
/// columns, quotes must close. Fault::parse names source and line.
[[nodiscard]] base::Result<std::vector<std::vector<std::string>>> read_csv(
    std::string_view text, const std::vector<std::string>& header, std::string_view source);

}  // namespace checks
