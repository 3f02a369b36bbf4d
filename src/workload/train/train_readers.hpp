#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/workload/train_import.hpp"

#include "workload/train/train_fields.hpp"

#include <map>
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
void read_job(TrainFields& spec, const ReadContext& context, TrainJob& job);

/// A problem if rank 0 of an MPI job has neither a command nor arguments for the entrypoint of its image.
void check_launcher(TrainFields& fields, const Role& role);

/// Whether the kind of a document is that of a training job.
[[nodiscard]] bool is_train_manifest(const base::Tree& document);

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
