#pragma once

#include "gpuadm/session/connections.hpp"

#include <filesystem>

namespace session {

/// The cluster of a kubeconfig: one entry in place of a host. Fault::usage as of namespace_in_kubeconfig, and
/// if hosts are given, too.
[[nodiscard]] Result<spec::Cluster> of_kubeconfig(const Hosts& hosts, const std::filesystem::path& file);

}  // namespace session
