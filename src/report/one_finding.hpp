#pragma once

#include "gpuadm/report/finding.hpp"
#include "gpuadm/report/style.hpp"

#include <span>
#include <string>

namespace report {

/// "swap is enabled (host.disk.swap-on)", as listed below a host.
[[nodiscard]] std::string message(const Finding& finding, const Style& style);

/// A finding with its evidence, its remedy and its consequences.
[[nodiscard]] std::string one(const Finding& finding, std::span<const Finding* const> explained,
                              const Style& style);

}  // namespace report
