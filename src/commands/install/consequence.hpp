#pragma once

#include "gpuadm/facts/facts.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <set>
#include <string>

namespace commands {

/// What init, apply and join mean for the GPUs of the hosts: "GPUs: 8 NVIDIA H200 on gpu1: pods can use them
/// afterwards; programs that use them now keep running". GPUs of hosts without a needed step do not count.
[[nodiscard]] std::string consequence_for_gpus(const spec::Cluster& cluster, const facts::Census& census,
                                               const session::NeededEffects& needed);

}  // namespace commands
