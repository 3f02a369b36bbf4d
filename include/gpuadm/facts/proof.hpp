#pragma once

#include "gpuadm/facts/cluster.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The output of gpuadm-proof (docs/gpu-proof.md), typed; its figures are not judged.
namespace facts {

struct ProofStep {
  std::string name, result;               ///< "memory"; "pass", "fail", "skip"
  std::string message;                    ///< of one that failed
  std::map<std::string, double> figures;  ///< "writeGBs"
};

/// One GPU, as a program in a pod sees it.
struct ProofGpu {
  int index = 0;  ///< in that pod
  std::string name, uuid, cuda;
  std::vector<ProofStep> steps;
};

struct Proof {
  std::vector<ProofGpu> gpus;
  std::vector<int> rounds;          ///< exit status of each round, with --again
  std::vector<std::string> others;  ///< other lines: error messages
};

/// Parses the lines of a log. Accepts any input.
[[nodiscard]] Proof parse_proof(std::span<const std::string> lines);

/// The pods of a namespace, and the last lines of their logs by pod.
struct NamespaceState {
  std::optional<std::vector<Pod>> pods;  ///< nothing: not available from the API server
  std::map<std::string, std::vector<std::string>> logs;
};

/// Parses the output of playbooks/cluster.sh about one namespace (docs/reference/cluster.md).
[[nodiscard]] base::Result<NamespaceState> parse_namespace(std::string_view output);

// --- The network: what pods of gpuadm-proof reached, in the output of playbooks/network-proof.sh
// ------------

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
