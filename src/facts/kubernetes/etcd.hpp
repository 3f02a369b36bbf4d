#pragma once

#include "gpuadm/facts/cluster.hpp"

#include "facts/sections/sections.hpp"

namespace facts {

/// The members of etcd and their responses, from the sections etcd-members and etcd-status/URL.
[[nodiscard]] std::optional<std::vector<EtcdMember>> read_etcd_members(const Sections& sections);

}  // namespace facts
