#pragma once

#include "gpuadm/report/finding.hpp"
#include "gpuadm/workload/train.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The check train.all-reduce: a short all-reduce between the ranks of a training job, in its own image, as a
/// training job of its own that exists for this time only.
namespace workload {

/// The files that the ranks of the test run: playbooks/workload/all-reduce.sh and all-reduce.py.
struct AllReduceScripts {
  std::string start, program;
};

/// The job of the test: images, variables, resources, GPUs and placement of `job`, without its command,
/// claims, init containers and sidecars. Roles without GPUs are left out if others have some. Nothing: it
/// would have one process, which has nothing to reduce with. `meet`: seconds within which all ranks start;
/// `limit`: seconds until Kubernetes ends the job.
[[nodiscard]] std::optional<TrainJob> all_reduce_job(const TrainJob& job, const AllReduceScripts& scripts,
                                                     int meet, int limit);

/// What the ranks printed.
struct AllReduce {
  bool has_torch = true;
  std::string why_no_torch;
  /// A process, in the order of their lines.
  struct Process {
    int rank = 0, gpus = 0;  ///< gpus: those that PyTorch sees
    std::string torch, cuda, model, backend;
    std::string nccl;                          ///< its version; empty: not used, or not read
    std::optional<long long> memlock, nofile;  ///< limits: bytes of locked memory, open files; -1: none
    std::optional<long long> shm, mtu;         ///< bytes of /dev/shm; of the link with the default route
  };
  std::vector<Process> processes;
  bool has_met = false;  ///< whether all processes have met
  /// The first process that failed, and whether it failed before all had met.
  struct Failure {
    int rank = 0;
    bool while_meeting = false;
    std::string error;
  };
  std::optional<Failure> failure;
  /// The result of process 0.
  struct Result {
    int ranks = 0;
    long long bytes = 0;
    double seconds = 0;
    std::string backend;
    /// GB/s of each rank, comparable with the speed of its link:
    /// https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
    [[nodiscard]] double bus() const;
  };
  std::optional<Result> result;
  std::string last_line;  ///< of another program or library, "[0] ImportError: ..."; empty: none
  bool is_right = true;   ///< whether all processes got the right sums
};
/// `log`: lines of all ranks; others than those of the test, and invalid ones, are skipped.
[[nodiscard]] AllReduce read_all_reduce(std::string_view log);

/// The speed of the slowest link that connects two nodes of a job.
struct LinkSpeed {
  std::string host, link;
  int megabits = 0;  ///< per second
};
struct AllReduceInputs {
  const TrainJob& job;  ///< not that of the test
  const AllReduce& read;
  std::string ended;  ///< how the first failed rank ended; empty: none failed
  int timed_out = 0;  ///< seconds after which the ranks were ended; 0: they were not
  std::optional<LinkSpeed> speed;
};
/// What the ranks may use, as they see it: train.limits, train.mtu, and with NCCL train.nccl. None if no
/// process said anything.
[[nodiscard]] std::vector<report::Finding> judge_ranks(const TrainJob& job, const AllReduce& read);

/// One finding, and another one if ranks have GPUs that PyTorch does not see. Only for an image with PyTorch.
/// Blocker: the ranks of a job with PyTorch would fail, too. The bandwidth of NCCL is a note, because no
/// floor for it is known; that of gloo is compared with the link.
/// Then those of judge_ranks.
[[nodiscard]] std::vector<report::Finding> judge_all_reduce(const AllReduceInputs& inputs);

/// Whether an image of the job is pulled with a Secret that is created with the job: before, it may not be
/// had.
[[nodiscard]] bool pulls_with_companion(const TrainJob& job);

/// A finding of train.all-reduce.
[[nodiscard]] report::Finding all_reduce_finding(report::Verdict verdict, report::Severity severity,
                                                 const std::string& message, const std::string& evidence = "",
                                                 const std::string& remedy = "");

}  // namespace workload
