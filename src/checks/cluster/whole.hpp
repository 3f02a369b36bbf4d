#pragma once

#include "checks/check.hpp"

#include <fmt/format.h>

/// Questions about a cluster that several checks ask.
namespace checks {

/// A list that the API server gave; says that it did not otherwise.
template <class T>
const T* given(const std::optional<T>& list, Verdicts& out, std::string_view what) {
  if (!list) out.unknown(fmt::format("the API server did not give {}", what));
  return list ? &*list : nullptr;
}

/// The facts of the host behind a node, or nullptr.
[[nodiscard]] const facts::Facts* host_of(const Whole& whole, const std::string& node);

/// The amount of a resource, 0 where there is none.
[[nodiscard]] long long amount(const std::map<std::string, std::string>& resources, std::string_view name);
/// All resources of nvidia.com together: GPUs and MIG devices.
[[nodiscard]] long long gpu_amount(const std::map<std::string, std::string>& resources);
[[nodiscard]] std::string label(const facts::Node& node, const std::string& name);
/// A node that offers GPUs, or whose host has some.
[[nodiscard]] bool has_gpus(const Whole& whole, const facts::Node& node);
/// The nodes that have GPUs; says why there is nothing to judge otherwise.
[[nodiscard]] std::vector<const facts::Node*> gpu_nodes(const Whole& whole, Verdicts& out);
/// Whether any GPU of a host is in MIG mode.
[[nodiscard]] bool has_mig(const facts::Facts& host);
/// A pod that ran to its end or runs well.
[[nodiscard]] bool is_well(const facts::Pod& pod);
/// Why a pod is not well: "CrashLoopBackOff", "Pending".
[[nodiscard]] std::string trouble_of(const facts::Pod& pod);
/// A pod of NVIDIA's DRA driver that serves a node's GPUs, as gpuadm and NVIDIA's chart name it.
[[nodiscard]] bool is_dra_driver_pod(const facts::Pod& pod);
[[nodiscard]] bool contains(std::string_view text, std::string_view part);
/// At most five, and how many more.
[[nodiscard]] std::string some(const std::vector<std::string>& names);

}  // namespace checks
