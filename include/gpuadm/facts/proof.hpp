#pragma once

#include "gpuadm/facts/cluster.hpp"

#include <map>
#include <span>
#include <string>
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
struct Space {
  std::optional<std::vector<Pod>> pods;  ///< nothing: not available from the API server
  std::map<std::string, std::vector<std::string>> logs;
};

/// Parses the output of playbooks/cluster.sh about one namespace (docs/reference/cluster.md).
[[nodiscard]] base::Result<Space> parse_ns(std::string_view output);

}  // namespace facts
