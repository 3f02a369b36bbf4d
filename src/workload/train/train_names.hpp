#pragma once

#include "gpuadm/workload/train.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What the commands and variables of a job contain: names of its pods, ports, and variables.
namespace workload {

/// The variables that the kubelet expands in the words of a job: "$(NAME)".
[[nodiscard]] std::set<std::string> expanded_variables(const TrainJob& job);

/// Whether the names of its pods are used: with MPI always, which starts processes by them.
[[nodiscard]] bool uses_hosts(const TrainJob& job);
/// The ranks whose names are in the words of the job.
[[nodiscard]] std::set<int> named_ranks(const TrainJob& job);
/// A word that is named like its pods, but with a number that no rank has.
struct UnknownHost {
  std::string name;
  const base::Tree* at;  ///< in the job
};
[[nodiscard]] std::optional<UnknownHost> unknown_host(const TrainJob& job);
/// The ports at which ranks may meet: the one of the job, and those in the words of the job.
[[nodiscard]] std::vector<int> ports_of(const TrainJob& job);

/// A Service of a job. Without a rank: a headless one of all ranks, for cluster DNS.
struct TrainService {
  std::string name;
  std::optional<int> rank;
};
/// None for one rank.
[[nodiscard]] std::vector<TrainService> services_of(const TrainJob& job);

/// hostAliases of a rank: the names of other ranks, without cluster DNS. Only with known addresses.
[[nodiscard]] base::Tree host_aliases(const TrainJob& job, int rank, const TrainContext& context);

}  // namespace workload
