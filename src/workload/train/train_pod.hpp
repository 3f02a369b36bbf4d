#pragma once

#include "gpuadm/workload/train.hpp"

#include <string>

namespace workload {

/// Labels of the objects of a job.
[[nodiscard]] base::Tree labels_of(const TrainJob& job);
/// Names of the objects of a job.
[[nodiscard]] std::string keys_name(const TrainJob& job);
[[nodiscard]] std::string source_name(const TrainJob& job);
[[nodiscard]] std::string claims_name(const TrainJob& job, const Role& role);
inline constexpr std::string_view keys_folder = "/etc/gpuadm/ssh", mpi_folder = "/etc/gpuadm/mpi",
                                  read_only_source = "/etc/gpuadm/source", hosts_folder = "/etc/mpi";

/// The variable with the folder for checkpoints, without which a job cannot be resumed.
inline constexpr const char* checkpoint_variable = "GPUADM_CHECKPOINT_DIR";

/// The port of the SSH server of a rank of an MPI job. On the network of its node, rank 0 has another one
/// than the others, so that it can run on a node with one of them.
[[nodiscard]] int ssh_port_of(const TrainJob& job, int rank);

/// The address of a rank: of its Service, or the variable that the kubelet sets from it.
[[nodiscard]] std::string address_of(const TrainJob& job, int rank, const TrainContext& context);

/// The variable that the kubelet sets from a Service: "$(MNIST_SERVICE_HOST)".
[[nodiscard]] std::string service_variable(const std::string& service);

/// `rank`: nothing for all ranks of an Indexed Job.
[[nodiscard]] base::Tree environment_of(const TrainJob& job, std::optional<int> rank,
                                        const TrainContext& context);
/// The template of the pods, with metadata and spec.
[[nodiscard]] Result<base::Tree> template_of(const TrainJob& job, std::optional<int> rank,
                                             const TrainContext& context);

/// Whether a script of gpuadm starts the command of a role, which must then be known.
[[nodiscard]] bool starts_command(const TrainJob& job, const Role& role);

/// Appends to the list under a key, which is created.
void append(base::Tree& map, std::string_view key, base::Tree value);

}  // namespace workload
