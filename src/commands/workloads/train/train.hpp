#pragma once

#include "commands/command.hpp"

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
  std::string ns;                            ///< empty: of the manifest, otherwise `context_ns`
  std::string context_ns;                    ///< of the kubeconfig; empty: "default"
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
  std::string wait;   ///< "300", "12h": for GPUs that others hold, and until all ranks run; empty: 300 s, not
                      ///< for GPUs
  std::string queue;  ///< LocalQueue; empty: that of the manifest, or none
  bool detach = false;  ///< return when all ranks run, or when the job is in its queue
  bool offline = false;
  bool all_reduce = false;          ///< the check train.all-reduce, too
  std::vector<std::string> ignore;  ///< ids of findings that do not block
  TrainForm form = TrainForm::text;
};
struct TrainOptions {
  Common common;
  Hosts hosts;
  std::string name;
  std::string ns;  ///< empty: "default"; for train_list: all
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
}  // namespace commands
