#pragma once

#include "gpuadm/report/finding.hpp"
#include "gpuadm/report/style.hpp"

#include <cstddef>
#include <string>

namespace report {

/// A link of a chain in one line, with its evidence; a broken one also with its remedy. `width`: of the
/// longest host name. The id of a finding is "CHAIN.LINK".
[[nodiscard]] std::string link_text(const Finding& finding, std::size_t width, const Style& style);

}  // namespace report
