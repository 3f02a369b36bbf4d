#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// What pods of gpuadm-proof reached: the output of playbooks/network-proof.sh; without judgment.
namespace facts {

/// One connection or look-up of a pod: a line of `gpuadm-proof --network`.
struct NetworkResult {
  enum class Kind { peer, dns, api } kind = Kind::peer;
  std::string target;  ///< an address, a name, or "ADDRESS port NUMBER"
  bool passed = false;
  std::string message;       ///< the reason for a failure
  std::string name, server;  ///< of dns: the name with the address, and the server that answered
};

struct NetworkNode {
  std::string name, address, pod_cidr;
  std::string ready, message;  ///< status and message of the condition Ready; empty: no such node
  std::string phase, pod_address, trouble;  ///< of the pod on it; trouble: why it does not run
  std::string exec_error;                   ///< why no program could be run in it
  std::vector<NetworkResult> results;
};

struct NetworkProof {
  std::vector<NetworkNode> nodes;
  bool dns_absent = false;  ///< the cluster has no DNS Service
  bool complete = false;    ///< the output is complete
  [[nodiscard]] const NetworkNode* node(std::string_view name) const;
  /// The node whose pod has the address, or nullptr.
  [[nodiscard]] const NetworkNode* node_of_pod(std::string_view address) const;
};

/// Accepts any input; unknown parts are ignored.
[[nodiscard]] NetworkProof parse_network_proof(std::string_view output);

/// A host's routes, from playbooks/verify/routes.yaml.
struct PodRoutes {
  std::string node;
  std::vector<std::string> lines;  ///< "10.244.1.0/24 via 10.0.0.2 dev eth0"
};
[[nodiscard]] PodRoutes parse_pod_routes(std::string_view output);

}  // namespace facts
