#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"

#include "commands/command.hpp"

#include <optional>
#include <string>

/// What a cluster is, is in the cluster file that gpuadm stores on its control planes
/// (/etc/kubernetes/gpuadm/cluster.yaml), not in defaults: commands without -f start from it, and commands
/// with -f must agree with it.
namespace commands {

/// The cluster file that gpuadm has stored on a control-plane node, without hosts and without the operator's
/// local files. Nothing: there is none.
[[nodiscard]] Result<std::optional<spec::Cluster>> find_stored_cluster(const std::string& host,
                                                                       transport::Fleet& fleet,
                                                                       const assets::Store& assets);
/// The same; Fault::blocked if there is none.
[[nodiscard]] Result<spec::Cluster> read_stored_cluster(const std::string& host, transport::Fleet& fleet,
                                                        const assets::Store& assets);

/// Whether a command without -f works on workers alone, which do not have the cluster's settings.
enum class Workers { refused, accepted };

struct Identity {
  spec::Cluster cluster;      ///< the settings of the run, for the hosts of the command line
  std::string control_plane;  ///< the host whose cluster it is; empty: no host is a complete control plane
  bool is_stored = false;     ///< that host has a stored cluster file
};

/// The cluster to which hosts belong. Without a cluster file, the settings are those of the stored one, with
/// the hosts, connection settings, requested version and bundle of `asked`. With a file, they are the file's,
/// and must agree with the stored one: see require_same. A cluster that is being created, or that another
/// tool has created, has no identity yet: `asked` is returned.
/// Faults: blocked (a worker alone, with the name of its cluster; another cluster), usage (the proxy of the
/// stored cluster requires a login, which only the operator's file names).
[[nodiscard]] Result<Identity> identify(spec::Cluster asked, const std::filesystem::path& file,
                                        const session::Survey& survey, transport::Fleet& fleet,
                                        const assets::Store& assets, Workers workers = Workers::refused);

/// The same for commands that only read, or that repair one host: what prevents it is printed as a note, and
/// `asked` is used.
[[nodiscard]] spec::Cluster known_settings(const spec::Cluster& asked, const std::filesystem::path& file,
                                           const session::Survey& survey, transport::Fleet& fleet,
                                           const assets::Store& assets, const Io& io);

/// Fault::blocked if a cluster file describes another cluster than the one that is stored on `host`: another
/// name, network plugin, pod or Service CIDR, or DNS domain. They cannot be changed while the cluster exists.
/// The message has both values of each.
[[nodiscard]] Result<> require_same(const spec::Cluster& stored, const spec::Cluster& asked,
                                    const std::string& host, const std::string& file);

/// Fault::blocked if a run requests another Kubernetes version than the control plane runs, with both.
/// `origin`: what requests it, "--kubernetes-version" or the name of a file.
[[nodiscard]] Result<> require_version(const spec::Cluster& asked, const Identity& identity,
                                       const facts::Census& census, const std::string& origin);

}  // namespace commands
