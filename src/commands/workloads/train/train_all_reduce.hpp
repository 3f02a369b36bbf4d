#pragma once

#include "commands/workloads/train/train_create.hpp"

#include <chrono>
#include <vector>

namespace commands {

/// Runs the all-reduce of train.all-reduce as a job of its own, and deletes it again, also after an error or
/// Ctrl-C. In an image without PyTorch, pods of gpuadm-proof on the same nodes test the network and the
/// copies between GPUs instead. `wait`: until all of its ranks must run. Fault::interrupted after Ctrl-C;
/// what prevents the test otherwise is a finding.
[[nodiscard]] Result<std::vector<report::Finding>> run_all_reduce(TrainSession& opened,
                                                                  const workload::TrainJob& job,
                                                                  const TrainView& view,
                                                                  std::chrono::seconds wait, Io& io);

/// The result of gpuadm-proof on these nodes, as findings of train.all-reduce.
[[nodiscard]] Result<std::vector<report::Finding>> prove_nodes(TrainSession& opened,
                                                               const workload::TrainJob& job,
                                                               const TrainView& view,
                                                               const std::vector<std::string>& nodes, Io& io);

}  // namespace commands
