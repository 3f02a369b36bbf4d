#pragma once

#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/workload/service_pod.hpp"

#include "commands/command.hpp"

#include <memory>
#include <optional>

namespace commands {

/// Waits between two queries. Fault::interrupted after Ctrl-C.
[[nodiscard]] Result<> pause(transport::Fleet& fleet, std::chrono::milliseconds time);

/// A cluster that is reached through one of its control-plane nodes.
class ReachedCluster {
 public:
  /// Connects. `io` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<ReachedCluster>> open(const Hosts& hosts, const Common& common,
                                                                    session::Access access, Io& io);
  [[nodiscard]] session::ClusterClient& client() { return *client_; }
  [[nodiscard]] const assets::Store& assets() const { return assets_; }
  /// The hosts of the command line.
  [[nodiscard]] const spec::Cluster& spec() const { return cluster_; }
  [[nodiscard]] session::Connections& connections() { return *connections_; }
  /// The control-plane node.
  [[nodiscard]] const spec::Host& host() const;
  [[nodiscard]] Result<> pause(std::chrono::milliseconds time) { return commands::pause(*fleet_, time); }

 private:
  explicit ReachedCluster(assets::Store assets) : assets_(std::move(assets)) {}
  assets::Store assets_;
  spec::Cluster cluster_;
  std::unique_ptr<session::Connections> connections_;
  std::unique_ptr<transport::Fleet> fleet_;
  std::optional<session::ClusterClient> client_;
};

/// A notebook or a served model that exists. `kind`: value of workload::kind_label, and the group of
/// commands.
struct NamedService {
  Common common;
  Hosts hosts;
  std::string name, ns = "default";
  std::string_view kind = workload::notebook_kind;
};

/// Its objects: Deployment, pods, Service and volumes. Fault::usage, with the nearest name, if there are
/// none.
[[nodiscard]] Result<std::vector<base::Tree>> find_service(ReachedCluster& cluster,
                                                           const NamedService& service);
/// Deletes its objects, and waits until its pods have ended. Also runs after Ctrl-C.
[[nodiscard]] Result<> remove_service(ReachedCluster& cluster, const std::string& ns,
                                      const std::string& selector, workload::GpuClaims claims,
                                      workload::OwnVolume volume);
/// Prints what is being deleted, and the time limit, except with --quiet: a pod may take minutes to end.
void report_deletion(const std::string& what, const Io& io);
/// The first object of a kind, or nullptr.
[[nodiscard]] const base::Tree* object_of(const std::vector<base::Tree>& objects, std::string_view kind);

}  // namespace commands
