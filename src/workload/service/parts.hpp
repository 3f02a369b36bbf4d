#pragma once

#include "gpuadm/workload/service_pod.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// Parts of the objects of a ServicePod.
namespace workload::service {

/// Name and value, in the order in which they are written.
using Texts = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] base::Tree list_of(base::Tree only);
/// Labels of its objects and pods.
[[nodiscard]] base::Tree labels(const ServicePod& pod);
[[nodiscard]] base::Tree metadata(const ServicePod& pod, const std::string& name);
[[nodiscard]] base::Tree object(const char* version, const char* kind, base::Tree metadata);

/// The new claim.
[[nodiscard]] base::Tree volume_claim(const ServicePod& pod);
[[nodiscard]] base::Tree secret(const ServicePod& pod, const std::string& name, const Texts& values);
/// A variable of a container, from a key of a Secret.
[[nodiscard]] base::Tree variable_from_secret(const std::string& variable, const std::string& secret,
                                              const std::string& key);
[[nodiscard]] base::Tree web_service(const ServicePod& pod, std::uint16_t port);
/// The claim template of its GPUs, with its labels.
[[nodiscard]] base::Tree gpu_claim_template(const ServicePod& pod, const GpuParts& parts);
/// Requests equal the limits, so that a node runs no more than it has. Null: none.
[[nodiscard]] base::Tree resources(const ServicePod& pod);
/// /dev/shm in memory, as a volume "shm".
[[nodiscard]] base::Tree shm_volume(const ServicePod& pod);
[[nodiscard]] base::Tree mount(const std::string& volume, const std::string& directory);
[[nodiscard]] base::Tree claim_volume(const std::string& volume, const std::string& claim);
/// Without what changes when it is created again: selectors cannot be changed.
[[nodiscard]] base::Tree selector(const ServicePod& pod);

}  // namespace workload::service
