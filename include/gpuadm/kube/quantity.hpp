#pragma once

#include "gpuadm/base/tree.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace kube {

/// Resource -> amount: "cpu" in thousandths, everything else in bytes or pieces.
using Amounts = std::map<std::string, double>;

/// The amount of a quantity in the notation of Kubernetes, "500m", "2Gi", "4"; nothing: it is not a quantity.
[[nodiscard]] std::optional<double> parse_quantity(std::string_view text);

/// The quantities of a map of resources; those that cannot be parsed are missing.
[[nodiscard]] Amounts amounts_of(const base::Tree& resources);

/// GPUs, shares of GPUs and MIG instances in the limits of the containers of a pod.
[[nodiscard]] long long gpus_in(const base::Tree& pod_spec);

}  // namespace kube
