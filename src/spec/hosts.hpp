#pragma once

#include "spec/field.hpp"

namespace spec {

/// The keys of one host, under "hosts[].".
[[nodiscard]] const std::vector<Field<Host>>& host_fields();

/// The list of hosts, as written.
[[nodiscard]] Type<std::vector<Host>> hosts();

/// Sets every host's name, address and role, and its settings inherited from the cluster. `list` is their
/// source.
void complete_hosts(Cluster& cluster, const Tree& list);

/// Conflicts between a host's keys, and between hosts.
void judge_hosts(const Cluster& cluster, const Tree& list, Problems& problems);

/// The number of control planes among all hosts of a cluster.
void judge_control_planes(const Cluster& cluster, const Tree& list, Problems& problems);

}  // namespace spec
