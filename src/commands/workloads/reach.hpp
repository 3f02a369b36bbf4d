#pragma once

#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/workload/notebook.hpp"

#include "commands/command.hpp"

#include <memory>
#include <optional>

namespace commands {

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
  /// Waits between two queries. Fault::interrupted after Ctrl-C.
  [[nodiscard]] Result<> pause(std::chrono::milliseconds time);

 private:
  explicit ReachedCluster(assets::Store assets) : assets_(std::move(assets)) {}
  assets::Store assets_;
  spec::Cluster cluster_;
  std::unique_ptr<session::Connections> connections_;
  std::unique_ptr<transport::Fleet> fleet_;
  std::optional<session::ClusterClient> client_;
};

/// A notebook that exists.
struct NotebookOptions {
  Common common;
  Hosts hosts;
  std::string name, ns = "default";
};

/// The objects of an existing notebook: Deployment, pods, Service and volumes. Fault::usage, with the nearest
/// name, if there is none.
[[nodiscard]] Result<std::vector<base::Tree>> find_notebook(ReachedCluster& cluster,
                                                            const NotebookOptions& options);
/// Deletes the objects of a notebook, and waits until its pod has ended. Also runs after Ctrl-C.
[[nodiscard]] Result<> remove_notebook(ReachedCluster& cluster, const std::string& ns,
                                       const std::string& selector, workload::GpuClaims claims,
                                       workload::OwnVolume volume);
/// Prints what is being deleted, and the time limit, except with --quiet: a pod may take minutes to end.
void report_deletion(const std::string& what, const Io& io);
/// The first object of a kind, or nullptr.
[[nodiscard]] const base::Tree* object_of(const std::vector<base::Tree>& objects, std::string_view kind);

/// "gpuadm notebook VERB NAME …" with the arguments that select the same cluster and namespace.
[[nodiscard]] std::string notebook_command(std::string_view verb, const std::string& name,
                                           const std::string& ns, const Hosts& hosts,
                                           const Connection& connection);

}  // namespace commands
