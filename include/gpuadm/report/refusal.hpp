#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/report/style.hpp"

#include <string>

namespace report {

/// The text for an unreachable host: the reason, and below it what to type; made printable.
[[nodiscard]] std::string to_text(const base::Error& error, const Style& style);

}  // namespace report
