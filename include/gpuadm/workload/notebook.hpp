#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/workload/gpus.hpp"
#include "gpuadm/workload/objects.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Notebooks: a Deployment with one pod, a Service, a Secret with the token, and a volume.
namespace workload {

/// The port of the web server in the pod, and of the Service.
inline constexpr std::uint16_t notebook_port = 8888;
/// Annotation of the Deployment: its GPUs as they were requested, "1/4".
inline constexpr std::string_view gpus_annotation = "gpuadm.io/gpus";
/// Where the volume is mounted, unless another directory is requested: the directory for files in the images
/// of the catalog.
inline constexpr std::string_view default_mount = "/home/jovyan/work";

enum class Reach { cluster, node_port };  ///< by whom the Service is reached: through a tunnel, or directly

/// A notebook as it was requested; empty: the default.
struct NotebookRequest {
  std::string name, ns = "default", gpus = "0";
  std::string image;          ///< "pytorch", "tensorflow", or a reference
  std::string storage, size;  ///< an existing claim; or with a size, a storage or StorageClass for a new one
  std::string mount = std::string(default_mount);
  std::string cpus, memory, shm;  ///< quantities
  Reach reach = Reach::cluster;
  std::vector<std::string> command;  ///< replaces the command of the image, and keeps its entry point
};

/// A notebook whose values are valid.
struct Notebook {
  std::string name, ns;
  GpuRequest gpus;
  std::string gpus_text;
  std::string image;
  std::string claim;          ///< the PersistentVolumeClaim that it mounts; empty: none
  std::string size;           ///< of a claim to create; empty: the claim exists
  std::string storage_class;  ///< of the claim to create, or a storage of gpuadm; empty: the default
  std::string mount, cpus, memory, shm;
  Reach reach = Reach::cluster;
  std::vector<std::string> command;
  std::string instance;  ///< value of instance_label; empty: no label
};

/// Validates everything that needs no cluster. The image is as requested. Fault::usage.
[[nodiscard]] Result<Notebook> make_notebook(const NotebookRequest& request);

/// The lowest CUDA version that the drivers of the nodes with suitable GPUs support, by their labels
/// (`nvidia.com/cuda.runtime-version.full`). Nothing: unknown for one of them.
[[nodiscard]] std::optional<base::Version> cuda_of(const facts::ClusterFacts& cluster,
                                                   const GpuSupply& supply);

/// The reference of an image: of a framework in `notebooks` of playbooks/catalog.yaml for this CUDA version
/// (unknown: the one with the oldest CUDA; no GPUs: the one without), or the requested one. Empty: pytorch.
/// Fault::blocked if the driver is too old for all of them.
[[nodiscard]] Result<std::string> image_of(const base::Tree& catalog, const std::string& requested,
                                           const GpuRequest& gpus, const std::optional<base::Version>& cuda);

/// Size of /dev/shm: half of `memory`; without a limit, half of the memory of the smallest node that can run
/// the notebook, at most 64Gi; without a cluster 8Gi.
[[nodiscard]] std::string shm_of(const Notebook& notebook, const facts::ClusterFacts* cluster,
                                 const GpuSupply& supply);

/// The objects, in the order of creation. The Secret contains the token.
[[nodiscard]] std::vector<base::Tree> objects_of(const Notebook& notebook, const GpuParts& parts,
                                                 const base::Secret& token);

/// What is deleted with a notebook.
enum class GpuClaims { yes, no };  ///< whether GPUs are requested by claims
enum class OwnVolume { kept, deleted };
/// Kinds of objects, in the order of deletion: each group is gone before the next one is deleted. A
/// controller that still exists would replace a deleted pod.
[[nodiscard]] std::vector<std::vector<std::string>> notebook_kinds(GpuClaims claims, OwnVolume volume);

}  // namespace workload
