#pragma once

#include "gpuadm/facts/redact.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <string>
#include <utility>
#include <vector>

namespace commands {

/// The run directory of an earlier run.
struct EarlierRun {
  std::string name;                                        ///< of the directory
  spec::Cluster cluster;                                   ///< its hosts are the hosts of the run
  std::vector<std::pair<std::string, std::string>> files;  ///< name and text
};

/// The last run with hosts of this cluster, and the last one with changes. A run with another host is not
/// included: nothing of that host may be in the archive, even if the run has the cluster's name.
[[nodiscard]] std::vector<EarlierRun> find_earlier_runs(const spec::Cluster& cluster);

/// Learns every name in the files of a run.
void learn_names(const EarlierRun& earlier, facts::Redactor& redact);

}  // namespace commands
