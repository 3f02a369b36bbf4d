#pragma once

#include "gpuadm/facts/facts.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <set>
#include <string>

namespace commands {

/// What init, apply and join mean for the GPUs of the hosts: "GPUs: 8 NVIDIA H200 on gpu1: pods can use them
/// afterwards; programs that use them now keep running". `phases`: those with needed steps.
[[nodiscard]] std::string consequence_for_gpus(const spec::Cluster& cluster, const facts::Census& census,
                                               const std::set<std::string>& phases);

}  // namespace commands
