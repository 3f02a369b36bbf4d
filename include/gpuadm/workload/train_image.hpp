#pragma once

#include "gpuadm/base/version.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/workload/train.hpp"

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The images of a training job, compared with the nodes that would run it.
namespace workload {

/// What a node knows of an image: playbooks/read/image.sh.
struct ImageOnNode {
  enum class State { unknown, present, absent };
  enum class Pull { unknown, possible, missing, denied, unreachable, not_needed };
  State state = State::unknown;
  Pull pull = Pull::not_needed;
  std::string why, pull_why;                       ///< why unknown, or not possible
  std::string architecture;                        ///< "amd64"; empty: unknown
  std::map<std::string, std::string> environment;  ///< of its configuration
  std::vector<std::string> entrypoint;             ///< of its configuration
  bool is_configured = false;                      ///< whether the configuration was read
  bool is_searched = false;                        ///< whether programs were searched for
  std::vector<std::string> programs;               ///< paths of those that were found
};
struct NodeImages {
  std::string node;
  std::string why;     ///< why nothing was read; empty: it was
  std::string driver;  ///< version of the loaded NVIDIA driver; empty: none, or not known
  std::map<std::string, ImageOnNode> images;  ///< by full name
};
/// Lines that are not valid are skipped, so that what they are about stays unknown.
[[nodiscard]] NodeImages read_node_images(const std::string& node, std::string_view output);

/// An image of a job.
struct TrainImage {
  std::string written, full;  ///< as in the pod, and as the container runtime names it
  std::string pulled;         ///< "always", "missing" or "never"
  bool has_gpus = false;      ///< a rank with it has GPUs
};
/// Of all roles, each once. `full_name_of`: nothing for an invalid name, which is left out.
[[nodiscard]] std::vector<TrainImage> train_images(
    const TrainJob& job, const std::function<std::optional<std::string>(const std::string&)>& full_name_of);

/// Ranks whose command gpuadm starts itself, and that have only arguments, get the entrypoint of their image
/// as their command. Fault::usage if no node knows it.
[[nodiscard]] Result<> set_entrypoints(TrainJob& job, const std::vector<TrainImage>& images,
                                       const std::vector<NodeImages>& read);

/// The tables of CUDA and drivers.
struct CudaLimits {
  /// The lowest driver for a CUDA version. Nothing: unknown.
  std::function<std::optional<std::string>(const base::Version& cuda)> lowest_driver;
  /// The CUDA version of a driver. Nothing: unknown.
  std::function<std::optional<base::Version>(const base::Version& driver)> cuda_of;
};

/// Programs that the image of an MPI job must have, and those of which it must have one.
inline constexpr std::array<std::string_view, 2> mpi_servers = {"sshd", "ssh"},
                                                 mpi_starters = {"mpirun", "mpiexec"};

struct ImageCheckInputs {
  const TrainJob& job;
  const std::vector<const facts::Node*>& nodes;  ///< that accept its pods
  const std::vector<NodeImages>& read;
  const std::vector<TrainImage>& images;
  const CudaLimits& cuda;
};
/// Results of train.image-present, -pull, -architecture, -cuda and -mpi for each node. Blockers: too few
/// nodes are left for the ranks. What could not be read is unknown.
[[nodiscard]] std::vector<report::Finding> examine_images(const ImageCheckInputs& inputs);

}  // namespace workload
