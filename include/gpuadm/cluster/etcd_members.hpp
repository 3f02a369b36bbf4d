#pragma once

#include "gpuadm/cluster/leaving_node.hpp"

#include <set>

/// Which members etcd has before its data is restored: a member that keeps its data would form a second
/// cluster.
namespace cluster {

/// What names the members: etcd itself, which has a quorum then; its data; the API server's control-plane
/// nodes; or the manifest of a host without data, which of the first control plane names only itself.
enum class MembersFrom { etcd, data, nodes, manifest };

/// The members of etcd as a host knows them.
struct EtcdMembers {
  MembersFrom from = MembersFrom::manifest;
  std::vector<Known> all;  ///< without machine ids
};

/// Parses the output of etcd_members in playbooks/etcd.sh. Fault::parse if it names nothing.
[[nodiscard]] Result<EtcdMembers> read_etcd_members(std::string_view output);

/// The hosts of a restore.
struct RestoreHosts {
  std::set<std::string> members;     ///< names of the members whose data is restored
  std::vector<std::string> hosts;    ///< their hosts
  std::vector<spec::Host> lost;      ///< hosts of members that are left out
  std::vector<std::string> in_file;  ///< control planes of the cluster file
  std::string file;                  ///< empty: none was given
};

/// Fault::blocked if a member would keep its data: one that is neither restored nor lost, as any of these
/// hosts knows the members; if other members cannot be ruled out; or if a lost host is a member of an etcd
/// that still has a quorum, which can remove it.
[[nodiscard]] Result<> may_restore(const std::vector<EtcdMembers>& known, const RestoreHosts& restore);

}  // namespace cluster
