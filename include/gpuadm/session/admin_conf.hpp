#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"

namespace session {

using base::Result;

/// /etc/kubernetes/admin.conf of the first control plane of the cluster that has one. Fault::usage where all
/// of them were reached and none has.
[[nodiscard]] Result<std::string> read_admin_conf(const spec::Cluster& cluster, transport::Fleet& fleet,
                                                  const assets::Store& assets);

enum class Current { becomes, stays };

/// A kubeconfig with the current context of another laid into it as `name`, with a cluster of that name and a
/// user `name`-admin. Entries that gpuadm wrote before under these names are replaced; Fault::usage where
/// somebody else's has one of them, Fault::parse where either is no kubeconfig.
[[nodiscard]] Result<base::Tree> with_context(base::Tree config, const base::Tree& admin,
                                              const std::string& name, Current current);

}  // namespace session
