#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace session {

using base::Result;

/// How long the deletion of pods may take: their grace period (30 s by default), an attempt to pull an image,
/// and two garbage collections of a kubelet of 1.20, one a minute. Until then that kubelet keeps a pod that
/// never had a container, because it has a sandbox (https://github.com/kubernetes/kubernetes/pull/92817 and
/// issues/97288; measured with 1.20.2: up to 111 s). The same in playbooks/prelude.sh.
inline constexpr std::chrono::seconds end_of_pods{300};

/// Objects to read.
struct ObjectQuery {
  std::vector<std::string>
      kinds;             ///< "pods", "jobs.batch"; one that the API server does not know is an error
  std::string ns;        ///< namespace; empty: all
  std::string selector;  ///< of labels; empty: all
  /// How long to wait before reading, until the Deployments of this selector are available; zero: not at all.
  std::chrono::seconds available_within{0};
};

/// The command that reads objects on a control-plane node. Its exit status is 3 where the host has no
/// kubeconfig of an administrator.
[[nodiscard]] Result<transport::Command> objects_command(const ObjectQuery& query,
                                                         const assets::Store& assets);
/// The names among what kubectl printed with `-o name`: only lines KIND/NAME. It also prints sentences there,
/// such as "No resources found" after a deletion that matched nothing.
[[nodiscard]] std::vector<std::string> object_names(std::string_view output);
/// Objects as the JSON of one List, as kubectl reads them.
[[nodiscard]] std::string list_of(const std::vector<base::Tree>& objects);
/// The objects in its output; `source`: for errors, "cp1: kubectl get pods".
[[nodiscard]] Result<std::vector<base::Tree>> objects_in(const std::string& output,
                                                         const std::string& source);

/// "this user may not list nodes", from kubectl's message about a request that is forbidden; empty: it is
/// about something else, such as a quota.
[[nodiscard]] std::string forbidden_request(std::string_view message);

/// The error of a request with a kubeconfig: what this user may not do (Fault::remote), that the cluster does
/// not accept the credentials (Fault::auth), or that the API server is not reached (Fault::unreachable).
/// `label`: what was requested; `message`: of kubectl.
[[nodiscard]] base::Error request_error(const std::string& label, const std::string& message);

/// Objects of a cluster, through kubectl on one of its control-plane nodes, or with a kubeconfig on this
/// machine. Objects are JSON, as the API has them. Every call: Fault::remote with kubectl's message,
/// Fault::interrupted after Ctrl-C; with a kubeconfig, the faults of request_error.
class ClusterClient {
 public:
  /// Uses the first reachable host of the cluster that has an administrator's kubeconfig; hosts whose role is
  /// control plane are tried first. Fault::usage if none has one. Fleet and assets must outlive the client.
  [[nodiscard]] static Result<ClusterClient> open(const spec::Cluster& cluster, transport::Fleet& fleet,
                                                  const assets::Store& assets);
  /// The control-plane node.
  [[nodiscard]] const std::string& host() const { return host_; }
  /// Whether it has a kubeconfig of the operator, with the rights of a user, and no host.
  [[nodiscard]] bool is_limited() const { return limited_; }
  /// Nodes, pods, runtime classes and devices; with a kubeconfig, pods of its namespace. Nothing else is
  /// read.
  [[nodiscard]] Result<facts::ClusterFacts> read_nodes_and_pods();
  /// `purpose`: as for create.
  [[nodiscard]] Result<std::vector<base::Tree>> get(const ObjectQuery& query,
                                                    transport::Purpose purpose = transport::Purpose::work);
  /// Creates all of them or none. Those with a namespace must be in `ns`. `purpose`: clean_up is also run
  /// after Ctrl-C. Returns their names, as "KIND/NAME".
  [[nodiscard]] Result<std::vector<std::string>> create(
      const std::string& ns, const std::vector<base::Tree>& objects,
      transport::Purpose purpose = transport::Purpose::work);
  /// Applies a JSON merge patch to an object, "statefulset/anna". A patch must not contain secrets.
  /// `purpose`: as for create.
  [[nodiscard]] Result<> patch(const std::string& ns, const std::string& object, const base::Tree& patch,
                               transport::Purpose purpose = transport::Purpose::work);
  /// Approves a CertificateSigningRequest, by its name.
  [[nodiscard]] Result<> approve(const std::string& request);
  /// Deletes objects of these kinds by their labels, and waits until they are gone. Returns their names. For
  /// kinds without a namespace, `ns` has no effect.
  [[nodiscard]] Result<std::vector<std::string>> remove(const std::string& ns,
                                                        const std::vector<std::string>& kinds,
                                                        const std::string& selector,
                                                        std::chrono::seconds timeout = end_of_pods);
  /// Server-side apply in this order, as the field manager gpuadm. Objects before one that is rejected stay
  /// applied; Fault::remote names a field that another manager has changed.
  [[nodiscard]] Result<> apply(const std::vector<base::Tree>& objects,
                               transport::Purpose purpose = transport::Purpose::work);
  /// Those of these objects that exist, by apiVersion, kind, namespace and name. `purpose`: as for create.
  [[nodiscard]] Result<std::vector<base::Tree>> find(const std::vector<base::Tree>& references,
                                                     transport::Purpose purpose = transport::Purpose::work);
  /// Deletes exactly these objects, in this order, and waits until they are gone. They are as `get` or `find`
  /// has read them: an object that was created again since then is another one, and stays. Also runs after
  /// Ctrl-C.
  [[nodiscard]] Result<> remove_objects(const std::vector<base::Tree>& objects,
                                        std::chrono::seconds timeout = end_of_pods);
  /// The answer of the API server to GET of a path, at most 64 MiB. Services and pods are reached through it:
  /// /api/v1/namespaces/NAMESPACE/services/NAME:PORT/proxy/PATH.
  [[nodiscard]] Result<std::string> raw(const std::string& path);
  /// A program in a pod of `ns`; `object`: "deployment/hub". A status other than 0 is an answer. Words of
  /// the command have no line breaks.
  [[nodiscard]] Result<transport::Exit> exec(const std::string& ns, const std::string& object,
                                             const std::vector<std::string>& command, std::string input,
                                             std::chrono::seconds timeout);
  /// Runs another script on the control-plane node.
  [[nodiscard]] Result<transport::Exit> ask(const Query& query);
  [[nodiscard]] transport::Fleet& fleet() { return *fleet_; }
  [[nodiscard]] const assets::Store& assets() const { return *assets_; }

 private:
  ClusterClient(const spec::Host& host, transport::Fleet& fleet, const assets::Store& assets)
      : host_(host.name), limited_(!host.endpoint.kubeconfig.empty()), fleet_(&fleet), assets_(&assets) {}
  /// Runs playbooks/objects.sh, which must succeed.
  [[nodiscard]] Result<std::string> run(transport::Command command);
  std::string host_;
  bool limited_;
  transport::Fleet* fleet_;
  const assets::Store* assets_;
};

/// Time limit for reading the cluster from a control-plane node: each command in the script has a shorter
/// one.
inline constexpr std::chrono::seconds view_timeout{300};

/// The cluster with roles and runtime from the facts of the hosts: one that is given only on the command line
/// has no settings for them.
[[nodiscard]] spec::Cluster fitted(spec::Cluster cluster, const facts::Census& census,
                                   const facts::ClusterFacts& facts);

/// Error if none of the hosts is a control-plane node. `census`: whether there is a cluster at all;
/// empty: unknown.
[[nodiscard]] base::Error no_control_plane(const facts::Census& census = {});
/// The same, if that is the case.
[[nodiscard]] Result<> has_control_plane(const spec::Cluster& cluster, const facts::Census& census);

/// The command that reads the cluster from a control-plane node.
[[nodiscard]] Result<transport::Command> view_command(const assets::Store& assets);

/// The output of the first control-plane node that has one. Nothing: none of the reachable hosts is a
/// control-plane node. Fault::usage if all are reachable and none is. `purpose`: of playbooks/cluster.sh.
[[nodiscard]] Result<std::optional<std::string>> view_cluster(const spec::Cluster& cluster,
                                                              const facts::Census& census,
                                                              transport::Fleet& fleet,
                                                              const assets::Store& assets,
                                                              std::chrono::seconds timeout = view_timeout,
                                                              const std::string& purpose = {});

/// The cluster's facts. If its API server does not respond, retries for up to 180 s.
[[nodiscard]] Result<facts::ClusterFacts> read_cluster_with_retry(const spec::Cluster& cluster,
                                                                  const facts::Census& census,
                                                                  transport::Fleet& fleet,
                                                                  const assets::Store& assets, Io& io,
                                                                  const std::string& purpose = {});

/// Every finding of the stage `cluster`: unreachable hosts first, then the results of the checks.
[[nodiscard]] Result<std::vector<report::Finding>> find_in_cluster(const spec::Cluster& cluster,
                                                                   const facts::Census& census,
                                                                   const std::optional<std::string>& view,
                                                                   const assets::Store& assets);

/// Kubernetes state of a host.
enum class HostState { fresh, unfinished, worker, control_plane };
/// fresh: no Kubernetes; unfinished: kubeadm init or join has started and not completed.
[[nodiscard]] HostState state_of(const facts::Facts& facts);

/// The stages that doctor checks without --stage, by reachable host: "preflight" for a fresh host, "node" for
/// a worker, "node,cluster" for a control-plane node, all for an unfinished one.
[[nodiscard]] std::map<std::string, std::string> stages_by_host(const facts::Census& census);

/// "Checked two as a host without Kubernetes (preflight); one as a control-plane node of cluster lab (node,
/// cluster)"; at most five hosts of each kind are listed. `asked`: the requested stage; empty: automatic.
[[nodiscard]] std::string describe_stages(const facts::Census& census, const std::string& asked);

/// Every finding of those stages: unreachable hosts, then faults of a node, then what prevents a host from
/// becoming one, then the control plane's state (`view`; nothing: not read).
[[nodiscard]] Result<std::vector<report::Finding>> find_by_state(const spec::Cluster& cluster,
                                                                 const spec::Decisions& decisions,
                                                                 const facts::Census& census,
                                                                 const std::optional<std::string>& view,
                                                                 const assets::Store& assets);

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
