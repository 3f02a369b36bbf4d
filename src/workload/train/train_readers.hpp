#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/workload/train_import.hpp"

#include "workload/train/train_fields.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The kinds of manifests, each with a function that reads its spec.
namespace workload {

/// Runtimes of TrainJobs in the same file, by their names.
using Runtimes = std::map<std::string, const base::Tree*, std::less<>>;

struct ReadContext {
  std::string_view version;  ///< apiVersion of the job
  const std::string& image;  ///< replaces that of the containers; empty: none
  const Runtimes& runtimes;
};

void read_pytorch(TrainFields& spec, const ReadContext& context, TrainJob& job);
void read_tensorflow(TrainFields& spec, const ReadContext& context, TrainJob& job);
void read_mpi(TrainFields& spec, const ReadContext& context, TrainJob& job);
void read_train_job(TrainFields& spec, const ReadContext& context, TrainJob& job);
void read_jax(TrainFields& spec, const ReadContext& context, TrainJob& job);
void read_job(TrainFields& spec, const ReadContext& context, TrainJob& job);
void read_job_set(TrainFields& spec, const ReadContext& context, TrainJob& job);

/// A kind of replicas in a manifest of the training operator, and the name of its role.
struct ReplicaKind {
  const char *key, *role;
};
/// `container`: the name of the one that trains.
void read_replicas(TrainFields fields, std::span<const ReplicaKind> kinds, std::string_view container,
                   const ReadContext& context, TrainJob& job);

/// A pod template with the overrides of a TrainJob for one of the jobs of its runtime, "node" or "launcher".
[[nodiscard]] base::Tree with_overrides(TrainFields& spec, std::string_view target, base::Tree pod);
/// The overrides of jobs that the runtime does not have are problems. `targets`: those that it has.
void check_overrides(TrainFields& spec, std::span<const std::string_view> targets);

/// gpuadm starts the SSH servers of an MPI job, at the port at which its programs expect them: of
/// "plm_rsh_args
/// '-p 2223'" of the launcher, otherwise of "sshd -p 2223" of the workers.
void read_ssh_port(TrainFields& fields, TrainJob& job);

/// A problem if rank 0 of an MPI job has neither a command nor arguments for the entrypoint of its image.
void check_launcher(TrainFields& fields, const Role& role);

/// Whether the kind of a document is that of a training job.
[[nodiscard]] bool is_train_manifest(const base::Tree& document);

/// Fault::spec: none of the documents is a training job. The hint is what to do with their kind instead.
[[nodiscard]] std::unexpected<base::Error> no_train_manifest(const std::vector<base::Tree>& documents,
                                                             std::string_view source);

/// The documents of a file, sorted. Others are problems.
struct TrainFile {
  const base::Tree* job = nullptr;
  Runtimes runtimes;
  std::vector<base::Tree> companions;
};
[[nodiscard]] TrainFile sort_documents(const std::vector<base::Tree>& documents, std::string_view source,
                                       TrainImport& import);
/// The documents without lists, and without what the API server has added to them.
[[nodiscard]] std::vector<base::Tree> written_documents(const std::vector<base::Tree>& documents);
/// Companions with the name of an object that gpuadm creates, or in another namespace, are problems.
void check_companions(const TrainJob& job, std::string_view source, TrainImport& import);

}  // namespace workload
