#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/cluster/idle.hpp"
#include "gpuadm/transport/fleet.hpp"

#include "commands/operate/health/health.hpp"

#include <map>
#include <string>
#include <vector>

namespace commands {

/// Credentials of the kubelet, which may change the status of its own node and create Events
/// (NodeRestriction), and those of the administrator on a control-plane node.
inline constexpr const char *kubelet_conf = "/etc/kubernetes/kubelet.conf",
                            *admin_conf = "/etc/kubernetes/admin.conf";

/// What a node reports of itself.
struct ReportedHealth {
  std::vector<cluster::HealthCondition> conditions;
  cluster::IdlePods idle;
  std::string heartbeat;  ///< RFC 3339
};

/// Node objects, and others by their paths, through kubectl on one host. Fleet and assets must outlive it.
class NodeApi {
 public:
  /// `config`: the kubeconfig on the host; empty: the administrator's.
  NodeApi(std::string host, std::string config, transport::Fleet& fleet, const assets::Store& assets)
      : host_(std::move(host)), config_(std::move(config)), fleet_(&fleet), assets_(&assets) {}

  [[nodiscard]] Result<base::Tree> read(const std::string& node);
  /// The object or list at this path of the API.
  [[nodiscard]] Result<base::Tree> read_path(const std::string& path);
  /// Replaces the object. Fault::remote if it was changed since it was read.
  [[nodiscard]] Result<> replace(const std::string& path, const base::Tree& object);
  /// A line into the log of a container, as if its first program had printed it.
  [[nodiscard]] Result<> log(const std::string& ns, const std::string& pod, const std::string& container,
                             const std::string& line);
  /// Puts conditions and idle pods into the Node, or removes ours. Reads and writes again where another
  /// client has changed the object in between.
  [[nodiscard]] Result<> set_health(const std::string& node, const ReportedHealth& health);
  /// Whether the API server refuses what was sent, so that sending it again is of no use.
  [[nodiscard]] static bool is_refused(const base::Error& error);
  [[nodiscard]] Result<> send(const cluster::HealthEvent& event, const std::string& node);
  [[nodiscard]] Result<std::vector<cluster::NodeHealth>> nodes();
  enum class Taint { add, remove };
  [[nodiscard]] Result<> taint(const std::string& node, Taint what);

 private:
  [[nodiscard]] Result<std::string> call(const std::string& action, base::Variables given);
  std::string host_, config_;
  transport::Fleet* fleet_;
  const assets::Store* assets_;
};

/// "2026-08-22T10:00:00Z", as the API server writes times.
[[nodiscard]] std::string api_time(base::Time time);

/// Removes conditions and taints from these nodes, which are the values of `nodes_by_host`, through their
/// control plane. A node that does not exist any more has none.
enum class Withdrawn { taints, everything };
[[nodiscard]] Result<> withdraw(NodeApi& api, const std::map<std::string, std::string>& nodes,
                                Withdrawn what);

}  // namespace commands
