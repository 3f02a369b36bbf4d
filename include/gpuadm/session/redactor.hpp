#pragma once

#include "gpuadm/facts/redact.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <string_view>

namespace session {

/// Learns the names in a cluster file: hosts, users, domains, and the servers that the cluster uses. Public
/// registries and repositories of packages keep their names, because findings depend on them.
void learn_names(const spec::Cluster& cluster, facts::Redactor& redact);

/// Learns the names of hosts and domains in the text of a facts.json. Text that is not JSON has none.
void learn_names_in_facts(std::string_view json, facts::Redactor& redact);

}  // namespace session
