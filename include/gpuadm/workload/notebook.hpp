#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/workload/gpus.hpp"
#include "gpuadm/workload/service_pod.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Notebooks: a Deployment with one pod, a Service, a Secret with the token, and a volume.
namespace workload {

/// The port of the web server in the pod, and of the Service.
inline constexpr std::uint16_t notebook_port = 8888;
/// Where the volume is mounted, unless another directory is requested: the directory for files in the images
/// of the catalog.
inline constexpr std::string_view default_mount = "/home/jovyan/work";

/// A notebook as it was requested. The image is "pytorch", "tensorflow", or a reference; the command replaces
/// the command of the image, and keeps its entry point.
using NotebookRequest = ServicePodRequest;
/// A notebook whose values are valid.
using Notebook = ServicePod;

/// Validates everything that needs no cluster. The image is as requested. Fault::usage.
[[nodiscard]] Result<Notebook> make_notebook(const NotebookRequest& request);

/// The reference of an image: of a framework in `notebooks` of playbooks/catalog.yaml for this CUDA version
/// (unknown: the one with the oldest CUDA; no GPUs: the one without), or the requested one. Empty: pytorch.
/// Fault::blocked if the driver is too old for all of them.
[[nodiscard]] Result<std::string> image_of(const base::Tree& catalog, const std::string& requested,
                                           const GpuRequest& gpus, const std::optional<base::Version>& cuda);

/// Its container in the pod.
inline constexpr std::string_view notebook_container = "notebook";
/// The Secret with the token of a notebook, and its key there.
[[nodiscard]] std::string notebook_secret(std::string_view name);
inline constexpr std::string_view notebook_token_key = "token";

/// Annotations of the Deployment: the time after which it is stopped when it is idle, "2h"; why it was
/// stopped, until it is started again.
inline constexpr std::string_view stop_idle_annotation = "gpuadm.io/stop-idle",
                                  stopped_annotation = "gpuadm.io/stopped";
/// The seconds of stop_idle_annotation; nothing: it has another form, or is out of range.
[[nodiscard]] std::optional<long long> stop_idle_seconds(std::string_view text);

/// The objects, in the order of creation. The Secret contains the token.
[[nodiscard]] std::vector<base::Tree> objects_of(const Notebook& notebook, const GpuParts& parts,
                                                 const base::Secret& token);

/// The request that leads to a Deployment as it is: GPUs, image, volume, processors, memory and /dev/shm. The
/// command is left out.
[[nodiscard]] NotebookRequest request_of(const base::Tree& deployment);
/// The live Deployment with the GPUs, processors, memory and /dev/shm of another one. Everything else that it
/// has stays; where its GPUs are (node selector, affinity, RuntimeClass) only if the GPUs are the same.
[[nodiscard]] base::Tree resized(const base::Tree& live, const base::Tree& made);

}  // namespace workload
