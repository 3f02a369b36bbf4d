#pragma once

#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "commands/operate/health/health.hpp"

#include <map>
#include <string>

namespace commands {

/// This program as a bundle of one file, for the step that installs it. Fault::usage if its file was
/// replaced or deleted while it runs.
[[nodiscard]] Result<bundle::Bundle> own_program();

/// The nodes of the reachable hosts, by host. Fault::usage if a host is not a node.
[[nodiscard]] Result<std::map<std::string, std::string>> nodes_by_host(const spec::Cluster& cluster,
                                                                       const facts::Census& census,
                                                                       const playbook::Library& library);

}  // namespace commands
