#pragma once

#include "checks/check.hpp"

#include <fmt/format.h>

/// Queries on a cluster that several checks share.
namespace checks {

/// A list from the API server; unknown if it is missing.
template <class T>
const T* given(const std::optional<T>& list, Verdicts& out, std::string_view what) {
  if (!list) out.unknown(fmt::format("the API server did not give {}", what));
  return list ? &*list : nullptr;
}

/// The facts of a node's host, or nullptr.
[[nodiscard]] const facts::Facts* host_of(const Whole& whole, const std::string& node);

/// The quantity of a resource, 0 if there is none.
[[nodiscard]] long long amount(const std::map<std::string, std::string>& resources, std::string_view name);
/// All resources of nvidia.com together: GPUs and MIG devices.
[[nodiscard]] long long gpu_amount(const std::map<std::string, std::string>& resources);
[[nodiscard]] std::string label(const facts::Node& node, const std::string& name);
/// A node that advertises GPUs, or whose host has some.
[[nodiscard]] bool has_gpus(const Whole& whole, const facts::Node& node);
/// The nodes with GPUs; skipped with the reason if there are none.
[[nodiscard]] std::vector<const facts::Node*> gpu_nodes(const Whole& whole, Verdicts& out);
/// A pod that has completed or is running and ready.
[[nodiscard]] bool is_well(const facts::Pod& pod);
/// Why a pod is unhealthy: "CrashLoopBackOff", "Pending".
[[nodiscard]] std::string trouble_of(const facts::Pod& pod);
/// A pod of NVIDIA's DRA driver for a node's GPUs, by the names of gpuadm and of NVIDIA's chart.
[[nodiscard]] bool is_dra_driver_pod(const facts::Pod& pod);
[[nodiscard]] bool contains(std::string_view text, std::string_view part);
/// At most five items, and the number of the others.
[[nodiscard]] std::string some(const std::vector<std::string>& names);

}  // namespace checks
