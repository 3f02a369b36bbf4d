#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/workload/gpus.hpp"
#include "gpuadm/workload/objects.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What notebooks and served models have in common: a Deployment with a web server, a Service, a Secret, and
/// a volume.
namespace workload {

/// Annotation of the Deployment: its GPUs as they were requested, "1/4".
inline constexpr std::string_view gpus_annotation = "gpuadm.io/gpus";
/// Annotation of the Deployment: its pods while it is not stopped; without it, one.
inline constexpr std::string_view replicas_annotation = "gpuadm.io/replicas";

enum class Reach { cluster, node_port };  ///< by whom the Service is reached: through a tunnel, or directly

/// As requested; empty: the default.
struct ServicePodRequest {
  std::string name, ns = "default", gpus = "0";
  std::string image;
  std::string storage, size;  ///< an existing claim; or with a size, a storage or StorageClass for a new one
  std::string mount;          ///< of the volume
  std::string cpus, memory, shm;  ///< quantities
  Reach reach = Reach::cluster;
  std::vector<std::string> command;
  std::string stop_idle;  ///< of notebooks: "2h"; empty: never
};

/// A request whose values are valid.
struct ServicePod {
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
  std::string stop_idle;  ///< of notebooks: the value of stop_idle_annotation; empty: none
  std::string instance;   ///< value of instance_label; empty: no label
  std::string kind;       ///< value of kind_label
};

/// What a value of kind_label is called in a sentence: "notebook", "served model".
[[nodiscard]] std::string_view noun_of(std::string_view kind);

/// Validates everything that needs no cluster; `image_example`: for an invalid image. Fault::usage.
[[nodiscard]] Result<ServicePod> make_service_pod(std::string_view kind, const ServicePodRequest& request,
                                                  std::string_view image_example);

/// The lowest CUDA version that the drivers of the nodes with suitable GPUs support, by their labels
/// (`nvidia.com/cuda.runtime-version.full`). Nothing: unknown for one of them.
[[nodiscard]] std::optional<base::Version> cuda_of(const facts::ClusterFacts& cluster,
                                                   const GpuSupply& supply);
/// The image for this CUDA version among `images` of playbooks/catalog.yaml, which are in descending order of
/// CUDA (unknown: the one with the oldest; no GPUs: the one without, if there is one). `name`: of the
/// framework or engine. Fault::blocked if the driver is too old for all of them.
[[nodiscard]] Result<std::string> image_for(const base::Tree& images, const std::string& name,
                                            const GpuRequest& gpus, const std::optional<base::Version>& cuda);

/// Size of /dev/shm: half of the memory limit; without a limit, half of the memory of the smallest node that
/// can run the pod, at most 64Gi; without a cluster 8Gi.
[[nodiscard]] std::string shm_of(const ServicePod& pod, const facts::ClusterFacts* cluster,
                                 const GpuSupply& supply);

/// What is deleted with it.
enum class GpuClaims { yes, no };  ///< whether GPUs are requested by claims
enum class OwnVolume { kept, deleted };
/// Kinds of objects, in the order of deletion: each group is gone before the next one is deleted. A
/// controller that still exists would replace a deleted pod.
[[nodiscard]] std::vector<std::vector<std::string>> service_kinds(GpuClaims claims, OwnVolume volume);

/// A Deployment for the place of the live one: only while that is unchanged.
[[nodiscard]] base::Tree replacement_of(const base::Tree& live, base::Tree made);
/// A live object as it was read, for the place of whatever has replaced it.
[[nodiscard]] base::Tree restored(const base::Tree& live);

}  // namespace workload
