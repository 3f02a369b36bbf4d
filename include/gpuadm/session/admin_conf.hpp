#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"

namespace session {

using base::Result;

/// /etc/kubernetes/admin.conf of the first control-plane node that has one. Fault::usage if all hosts are
/// reachable and none has it.
[[nodiscard]] Result<std::string> read_admin_conf(const spec::Cluster& cluster, transport::Fleet& fleet,
                                                  const assets::Store& assets);

enum class Current { becomes, stays };

/// A kubeconfig with the current context of another merged into it as `name`, with a cluster of that name and
/// a user `name`-admin. Earlier entries of gpuadm under these names are replaced; Fault::usage if another
/// program created one of them or `config` is not a kubeconfig, Fault::parse if `admin` is not one.
[[nodiscard]] Result<base::Tree> with_context(base::Tree config, const base::Tree& admin,
                                              const std::string& name, Current current);

}  // namespace session
