#pragma once

#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/facts/kubernetes.hpp"
#include "gpuadm/facts/sections.hpp"

namespace facts {

/// The members of etcd and their responses, from the sections etcd-members and etcd-status/URL.
[[nodiscard]] std::optional<std::vector<EtcdMember>> read_etcd_members(const Sections& sections);

/// The duration of etcd's writes, from its metrics.
void read_etcd_times(const Sections& sections, Kubernetes& kubernetes);

}  // namespace facts
