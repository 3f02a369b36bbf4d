#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/session/ask.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace session {

/// How long the deletion of pods may take: their grace period (30 s by default), an attempt to pull an image,
/// and two garbage collections of a kubelet of 1.20, one a minute. Until then that kubelet keeps a pod that
/// never had a container, because it has a sandbox (https://github.com/kubernetes/kubernetes/pull/92817 and
/// issues/97288; measured with 1.20.2: up to 111 s). The same in playbooks/prelude.sh.
inline constexpr std::chrono::seconds end_of_pods{300};

/// Objects to read.
struct ObjectQuery {
  std::vector<std::string>
      kinds;             ///< "pods", "jobs.batch"; one that the API server does not know is an error
  std::string space;     ///< namespace; empty: all
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

/// Objects of a cluster, through kubectl on one of its control-plane nodes. Objects are JSON, as the API has
/// them. Every call: Fault::remote with kubectl's message, Fault::interrupted after Ctrl-C.
class ClusterClient {
 public:
  /// Uses the first reachable host of the cluster that has an administrator's kubeconfig; hosts whose role is
  /// control plane are tried first. Fault::usage if none has one. Fleet and assets must outlive the client.
  [[nodiscard]] static Result<ClusterClient> open(const spec::Cluster& cluster, transport::Fleet& fleet,
                                                  const assets::Store& assets);
  /// The control-plane node.
  [[nodiscard]] const std::string& host() const { return host_; }
  /// Nodes, pods, runtime classes and devices. Nothing else is read.
  [[nodiscard]] Result<facts::ClusterFacts> read_nodes_and_pods();
  /// `purpose`: as for create.
  [[nodiscard]] Result<std::vector<base::Tree>> get(const ObjectQuery& query,
                                                    transport::Purpose purpose = transport::Purpose::work);
  /// Creates all of them or none. Those with a namespace must be in `space`. `purpose`: clean_up is also run
  /// after Ctrl-C. Returns their names, as "KIND/NAME".
  [[nodiscard]] Result<std::vector<std::string>> create(
      const std::string& space, const std::vector<base::Tree>& objects,
      transport::Purpose purpose = transport::Purpose::work);
  /// Applies a JSON merge patch to an object, "statefulset/anna". A patch must not contain secrets.
  /// `purpose`: as for create.
  [[nodiscard]] Result<> patch(const std::string& space, const std::string& object, const base::Tree& patch,
                               transport::Purpose purpose = transport::Purpose::work);
  /// Deletes objects of these kinds by their labels, and waits until they are gone. Returns their names. For
  /// kinds without a namespace, `space` has no effect.
  [[nodiscard]] Result<std::vector<std::string>> remove(const std::string& space,
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
  /// A program in a pod of `space`; `object`: "deployment/hub". A status other than 0 is an answer. Words of
  /// the command have no line breaks.
  [[nodiscard]] Result<transport::Exit> exec(const std::string& space, const std::string& object,
                                             const std::vector<std::string>& command, std::string input,
                                             std::chrono::seconds timeout);
  /// Runs another script on the control-plane node.
  [[nodiscard]] Result<transport::Exit> ask(const Query& query);
  [[nodiscard]] transport::Fleet& fleet() { return *fleet_; }
  [[nodiscard]] const assets::Store& assets() const { return *assets_; }

 private:
  ClusterClient(std::string host, transport::Fleet& fleet, const assets::Store& assets)
      : host_(std::move(host)), fleet_(&fleet), assets_(&assets) {}
  /// Runs playbooks/objects.sh, which must succeed.
  [[nodiscard]] Result<std::string> run(transport::Command command);
  std::string host_;
  transport::Fleet* fleet_;
  const assets::Store* assets_;
};

}  // namespace session
