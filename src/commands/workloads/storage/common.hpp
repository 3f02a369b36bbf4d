#pragma once

#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/workload/storage.hpp"

#include "commands/command.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace commands {

/// Renders the steps of a command from current facts.
using PlanOf = std::function<Result<plan::Plan>(const facts::Census&)>;

/// Where a cluster's storages are described: the operator's cluster file, or the one on the control plane.
struct StorageSource {
  spec::Cluster cluster;
  std::string file;  ///< text of the operator's file; empty: the stored one is used
  /// The file on the control plane, for these hosts. Nothing: there is none, which requires the operator's
  /// file.
  std::optional<spec::Cluster> stored;
};

/// Fault::usage if hosts are given in addition to a file: a storage is on all of its hosts.
[[nodiscard]] Result<> check_all_hosts(const Hosts& hosts);

/// The cluster of the command line with the storages of its file, or of the file on the control plane.
[[nodiscard]] Result<StorageSource> read_storages(const Hosts& hosts, spec::Cluster cluster,
                                                  const std::string& control_plane, transport::Fleet& fleet,
                                                  const assets::Store& assets);

/// The steps of a playbook, then the cluster file on the control plane as in `stored`.
[[nodiscard]] Result<plan::Plan> with_stored_file(plan::Plan plan, const std::optional<spec::Cluster>& stored,
                                                  const facts::Census& census, const assets::Store& assets);

/// Previews, asks, locks and executes on all hosts of the cluster.
struct StorageRun {
  const spec::Cluster& cluster;
  const session::RunContext& session;
  const session::Survey& survey;
  const assets::Store& assets;
  Consent consent = Consent::ask;
  Format format = Format::text;
  /// Called once the hosts are locked, before the plan is rendered again; its error ends the run.
  std::function<Result<>()> locked = {};
};
[[nodiscard]] Result<Outcome> execute(const StorageRun& run, const PlanOf& plan_of, Io& io);

/// The storage of that name; Fault::usage with the existing ones.
[[nodiscard]] Result<spec::Storage> storage_named(const spec::Cluster& cluster, const std::string& name);

/// The claims of gpuadm, of one storage or of all.
[[nodiscard]] Result<std::vector<workload::ClaimOnStorage>> read_claims(session::ClusterClient& client,
                                                                        const std::string& storage = {});

/// Writes a changed cluster file: a symbolic link is kept, and so is the file's mode. Fault::blocked if the
/// file is no longer `before`.
[[nodiscard]] Result<> write_cluster_file(const std::filesystem::path& file, const std::string& before,
                                          const std::string& after);

}  // namespace commands
