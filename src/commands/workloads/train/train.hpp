#pragma once

#include "commands/app.hpp"

#include <string>
#include <vector>

/// `gpuadm train`: jobs of several ranks, as plain objects of Kubernetes.
namespace commands {

enum class TrainForm { text, json, yaml };
enum class TrainFramework { plain, tensorflow, mpi };

struct TrainRunOptions {
  Common common;
  Hosts hosts;
  std::vector<std::filesystem::path> files;  ///< a cluster file, and a manifest of a job
  std::string name;                          ///< with a manifest: a host
  std::string space;                         ///< empty: of the manifest, otherwise "default"
  std::string image;
  std::vector<std::string> command;
  int nodes = 1;
  std::string gpus;  ///< of each rank: workload::parse_gpus; empty: those of the manifest, or 1
  std::vector<std::string> environment;  ///< "NAME=VALUE"
  std::vector<std::string> volumes;      ///< "NAME[:PATH]": claims; with a size, also storages and classes
  std::string size;                      ///< of a new claim; empty: none
  std::vector<std::string> resources;    ///< "rdma/hca=1"
  std::string cpus, memory, shm;
  std::filesystem::path source;      ///< a folder that every rank gets; empty: none
  std::vector<std::string> include;  ///< patterns of what is copied although it is left out by its name
  TrainFramework framework = TrainFramework::plain;
  bool pack = false;    ///< several ranks on one node
  int port = 0;         ///< of the rendezvous; 0: the default
  int processes = 0;    ///< of torchrun, and MPI slots, in each rank; 0: the number of GPUs
  std::string timeout;  ///< "2h"; empty: none
  int wait = 300;       ///< seconds until all ranks must run
  bool detach = false;  ///< return when all ranks run
  bool offline = false;
  bool all_reduce = false;          ///< the check train.all-reduce, too
  std::vector<std::string> ignore;  ///< ids of findings that do not block
  TrainForm form = TrainForm::text;
};
/// Checks, creates the objects of a job, waits until all ranks run, and follows their logs until the job
/// ends. If not all ranks run in time, or after Ctrl-C before that, everything is deleted again.
/// Outcome::failed if the job fails, ::blocked if it does not fit. With TrainForm::yaml, prints the objects
/// and creates nothing.
[[nodiscard]] Result<Outcome> train_run(const TrainRunOptions& options, Io& io);
/// The checks of train_run. Creates nothing except, with `all_reduce`, the objects of a short job, which are
/// deleted again. Outcome::blocked if the job cannot run.
[[nodiscard]] Result<Outcome> train_check(const TrainRunOptions& options, Io& io);

struct TrainOptions {
  Common common;
  Hosts hosts;
  std::string name;
  std::string space;  ///< empty: "default"; for train_list: all
  // train_logs
  bool follow = false;
  int rank = -1;  ///< -1: all
  // train_stop
  bool keep = false;  ///< keep the objects for train_resume
  // train_resume
  int wait = 300;
  bool detach = false;
  TrainForm form = TrainForm::text;
};
/// Prints one line per rank.
[[nodiscard]] Result<Outcome> train_status(const TrainOptions& options, Io& io);
/// Prints the logs of ranks, "[0] line". With `follow` until the job ends; then as train_run.
[[nodiscard]] Result<Outcome> train_logs(const TrainOptions& options, Io& io);
/// Ends a job and deletes its objects. Volumes stay.
[[nodiscard]] Result<Outcome> train_stop(const TrainOptions& options, Io& io);
/// Starts a job that has ended again, with the same objects, for its next attempt.
[[nodiscard]] Result<Outcome> train_resume(const TrainOptions& options, Io& io);
/// Prints one line per job.
[[nodiscard]] Result<Outcome> train_list(const TrainOptions& options, Io& io);

}  // namespace commands
