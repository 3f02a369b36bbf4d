#pragma once

#include "spec/field.hpp"

namespace spec {

/// The keys of one host, under "hosts[].".
[[nodiscard]] const std::vector<Field<Host>>& host_fields();

/// The list of hosts, each as it was written.
[[nodiscard]] Type<std::vector<Host>> hosts();

/// Gives every host its name, address and role, and what it inherits from the cluster. `list` is what they
/// were read from.
void complete_hosts(Cluster& cluster, const Tree& list);

/// What a host's keys together, and several hosts together, get wrong.
void judge_hosts(const Cluster& cluster, const Tree& list, Problems& problems);

}  // namespace spec
