#pragma once

#include "gpuadm/facts/cluster.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

/// What gpuadm-proof printed (docs/gpu-proof.md), typed; whether its figures are good is not said here.
namespace facts {

struct ProofStep {
  std::string name, result;               ///< "memory"; "pass", "fail", "skip"
  std::string says;                       ///< of one that failed
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
  std::vector<int> rounds;          ///< exit status of each look, where it looked again and again
  std::vector<std::string> others;  ///< lines that are none of the two: what went wrong, in words
};

/// Reads the lines of a log. Nothing in it makes it fail.
[[nodiscard]] Proof parse_proof(std::span<const std::string> lines);

/// The pods of a namespace, and the last lines of their logs by pod.
struct Space {
  std::optional<std::vector<Pod>> pods;  ///< nothing: the API server did not give them
  std::map<std::string, std::vector<std::string>> logs;
};

/// Reads what playbooks/cluster.sh printed of one namespace (docs/reference/cluster.md).
[[nodiscard]] base::Result<Space> parse_space(std::string_view output);

}  // namespace facts
