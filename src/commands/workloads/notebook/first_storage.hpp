#pragma once

#include "gpuadm/facts/facts.hpp"

#include "commands/workloads/reach.hpp"

#include <string>

namespace commands {

/// The storage that gpuadm makes for the first volume of a cluster without any: a folder on one host.
struct FirstStorage {
  std::string name = "local", path = "/var/lib/gpuadm-storage";
  std::string host;
  unsigned long long free = 0;  ///< bytes there
};

/// The host with the most free space, of those with GPUs if the volume is for a pod with GPUs. Fault::blocked
/// if none has `bytes` free.
[[nodiscard]] Result<FirstStorage> place_first_storage(const facts::Census& census, bool needs_gpu,
                                                       unsigned long long bytes);

/// A request for a new volume in a cluster without default StorageClass: the name of its only storage, or of
/// one that is made now, after a question. Fault::blocked, with the command to type, if it may not ask.
[[nodiscard]] Result<std::string> make_first_storage(const workload::NotebookRequest& request,
                                                     const NotebookOptions& options, Consent consent,
                                                     ReachedCluster& cluster, Io& io);

}  // namespace commands
