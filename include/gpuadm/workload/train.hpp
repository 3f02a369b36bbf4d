#pragma once

#include "gpuadm/base/version.hpp"
#include "gpuadm/workload/gpus.hpp"
#include "gpuadm/workload/objects.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Training jobs: one pod for each rank, as Jobs of Kubernetes, and a Service for the address at which ranks
/// meet. docs/quickstart/training.md describes what the ranks see.
namespace workload {

/// What the ranks are started for. `plain`: PyTorch, JAX and everything else that reads MASTER_ADDR or RANK.
enum class Framework { plain, tensorflow, mpi };

/// What /etc/mpi/hostfile and discover_hosts.sh of an MPI job are for: Open MPI, MPICH and Intel MPI, or Open
/// MPI as the older operator (kubeflow.org/v1) writes them.
enum class HostsForm { openmpi, hydra, openmpi_v1 };

/// Labels of the pods of Jobs that gpuadm makes for each rank, and of all pods of an Indexed Job (since
/// Kubernetes 1.28).
inline constexpr std::string_view rank_label = "gpuadm.io/rank",
                                  index_label = "batch.kubernetes.io/job-completion-index";
/// The folder of a rank with the files of --src.
inline constexpr std::string_view source_folder = "/workspace";

/// Ranks with the same pod, consecutively numbered.
struct Role {
  std::string name = "worker";  ///< for TF_CONFIG: "chief", "ps", "worker"
  int replicas = 1;
  GpuRequest gpus;  ///< of each
  base::Tree pod;   ///< the spec of its pods; GPUs, rendezvous and volumes of gpuadm are added to it
  base::Tree labels, annotations;  ///< of its pods; null: none
  /// Its ranks run as long as the others, and do not end by themselves: parameter servers.
  bool ends_with_job = false;
};

/// A file of --src: path below the folder, content.
struct SourceFile {
  std::string path, content;
  bool executable = false;
};

struct TrainJob {
  std::string name, ns = "default";
  std::string instance;  ///< value of instance_label; empty: none
  Framework framework = Framework::plain;
  std::vector<Role> roles;
  /// Of torchrun in each pod, and MPI slots of a rank; 0: one for each GPU of the rank.
  int processes = 1;
  int port = 29500;       ///< at which ranks meet
  long long timeout = 0;  ///< seconds until the job is ended; 0: none
  Placement placement = Placement::one_per_node;
  bool launcher_works = true;  ///< with MPI: rank 0, which starts mpirun, also has slots
  std::string checkpoints;     ///< directory for checkpoints in the pods; empty: none
  /// The pods of the ranks as the operator of a manifest names them, "pi-launcher", "pi-worker-0"; empty: the
  /// command cannot know them.
  std::vector<std::string> hosts;
  HostsForm hosts_form = HostsForm::openmpi;
  int ssh_port = 2222;  ///< with MPI: at which the SSH servers of the ranks listen
  /// How often gpuadm starts all ranks again after one has failed. Nothing: it does not, and `train resume`
  /// needs a directory for checkpoints.
  std::optional<int> restarts;
  base::Tree labels;  ///< of its Jobs, for other controllers; null: none
  std::string queue;  ///< LocalQueue that admits its Job, which is created suspended; empty: none
  std::vector<std::string> sidecars;   ///< containers that the kubelet ends with a rank
  std::vector<base::Tree> companions;  ///< objects of the same file: ConfigMaps, Secrets, Services, claims
  std::vector<SourceFile> source;
  [[nodiscard]] int ranks() const;
  /// The role of a rank.
  [[nodiscard]] const Role& role_of(int rank) const;
  [[nodiscard]] int processes_of(int rank) const;
};

/// Whether gpuadm sets this variable of the ranks, so that the job must not: the ranks find each other and
/// their files by it, and other variables refer to it.
[[nodiscard]] bool is_set_by_gpuadm(const TrainJob& job, std::string_view variable);
/// Fault::usage if two volumes of a rank, including those of gpuadm, would be mounted at the same directory.
[[nodiscard]] Result<> check_mounts(const TrainJob& job);

/// What `train run` takes from the command line for the pods.
struct TrainVolume {
  std::string claim, path;
};
struct PodOptions {
  std::string image;
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string cpus, memory, shm;  ///< quantities; empty: not limited
  std::vector<TrainVolume> volumes;
  std::vector<std::pair<std::string, std::string>> resources;  ///< others: "rdma/hca" -> "1"
};
/// The command and the variables are literal: Kubernetes does not expand "$(NAME)" in them.
[[nodiscard]] base::Tree pod_of(const PodOptions& options);

/// Scripts that run in pods, from assets.
struct TrainScripts {
  std::string rank;  ///< playbooks/workload/rank.sh
  std::string mpi;   ///< playbooks/workload/mpi.sh
};

/// SSH keys of an MPI job: for the client and for the servers.
struct MpiKeys {
  std::string client, client_public, host, host_public;
};

/// The kubelet ends containers with a restart policy of their own since 1.29 (beta and on by default).
inline constexpr base::Version sidecars_since{1, 29, -1};
/// Fault::usage if a sidecar of the job would keep its ranks running on the oldest kubelet.
[[nodiscard]] Result<> check_sidecars(const TrainJob& job, const std::optional<base::Version>& oldest);

/// The form of the Jobs: one Indexed Job, or one Job for each rank. Indexed needs Kubernetes 1.28, the same
/// pod for all ranks without names of its own, and a command: rank 0 replaces MASTER_ADDR by its own address
/// before it, which the kubelet cannot do in "$(MASTER_ADDR)".
enum class JobForm { indexed, one_per_rank };
/// `oldest`: version of the oldest kubelet; nothing: unknown.
[[nodiscard]] JobForm form_of(const TrainJob& job, const std::optional<base::Version>& oldest);

/// Objects in the order in which they are created. Services come before pods, which need their addresses.
struct TrainObjects {
  std::vector<base::Tree> companions, services, others;
};
/// What the objects depend on in addition to the job.
struct TrainContext {
  JobForm form = JobForm::indexed;
  GpuSupply supply;
  TrainScripts scripts;
  std::optional<MpiKeys> keys;  ///< only for MPI
  /// Service -> address; without it: the variable that the kubelet sets from the Service.
  std::map<std::string, std::string> addresses;
};
/// Fault::blocked if a queue cannot admit all ranks of the job together: it admits a Job, and counts
/// resources of device plugins.
[[nodiscard]] Result<> check_queue(const TrainJob& job, JobForm form, const GpuSupply& supply);
/// Fault::usage if a role needs something that its pod does not have, such as a command.
[[nodiscard]] Result<TrainObjects> objects_of(const TrainJob& job, const TrainContext& context);

/// The companions of a job as they are created: in its namespace, with its labels.
[[nodiscard]] std::vector<base::Tree> companions_of(const TrainJob& job);

/// The same Job again, as `attempt`: without what Kubernetes has added to it. Fault::usage if it has no
/// directory for checkpoints, and is not from a manifest.
[[nodiscard]] Result<base::Tree> repeated(const base::Tree& job, int attempt);
/// The attempt of a Job, from 0.
[[nodiscard]] int attempt_of(const base::Tree& job);
/// How many attempts of a Job are left after a failure.
[[nodiscard]] int restarts_left(const base::Tree& job);

/// One rank, as its pod shows it.
struct RankState {
  enum class Phase { missing, pending, running, succeeded, failed };
  int rank = 0;
  Phase phase = Phase::missing;
  std::string pod, container, node;  ///< container: the one that runs the command
  int exit_code = 0;                 ///< of a failed one
  std::string why;                   ///< why it does not run, or how it ended; printable
  bool hopeless = false;             ///< a pending one that waiting does not help: the image does not exist
  bool unreachable = false;          ///< a running one whose node is not ready
};
struct TrainState {
  enum class Phase { pending, running, succeeded, failed, stopped };
  std::string name, ns;
  Phase phase = Phase::pending;
  int ranks = 0;
  std::vector<RankState> states;  ///< one for each rank
  std::string gpus;               ///< of a rank: "2 nvidia.com/gpu", "none or 2 nvidia.com/gpu"; empty: none
  bool has_claims = false;        ///< GPUs of a rank are allocated by claims
  std::string created;            ///< RFC 3339
  std::string why;                ///< of a Job that failed without a failed pod: "DeadlineExceeded"
  std::vector<std::string> jobs;  ///< names of its Jobs
  bool has_followers = false;     ///< ranks that run as long as the others
  bool queued = false;            ///< its Job is suspended, and starts when its queue admits it
  /// The first failed rank, or nullptr. One that was killed precedes those that exited, which they also do
  /// when they lose their connection to it.
  [[nodiscard]] const RankState* failed() const;
  /// The first rank that has not started, or nullptr.
  [[nodiscard]] const RankState* waiting() const;
  /// Whether every rank runs or has run.
  [[nodiscard]] bool all_started() const;
  [[nodiscard]] bool has_ended() const {
    return phase == Phase::succeeded || phase == Phase::failed || phase == Phase::stopped;
  }
};
[[nodiscard]] std::string_view name_of(RankState::Phase phase);
[[nodiscard]] std::string_view name_of(TrainState::Phase phase);
/// States of all training jobs among Jobs and pods, sorted by namespace and name.
[[nodiscard]] std::vector<TrainState> train_states(const std::vector<base::Tree>& jobs,
                                                   const std::vector<base::Tree>& pods);

}  // namespace workload
