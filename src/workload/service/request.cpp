#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/service_pod.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Fault;

Result<> check_quantity(const char* option, const std::string& text) {
  if (!text.empty()) TRY(size_of(option, text));
  return {};
}

/// A claim is an existing one, or a new one with the name of the pod.
Result<> set_volume(const ServicePodRequest& request, ServicePod& pod) {
  if (request.size.empty() && request.storage.empty()) return {};
  if (!request.storage.empty() && !base::is_dns_name(request.storage))
    return base::fail(Fault::usage,
                      fmt::format("--storage: not a name: {}", base::printable(request.storage, 80)),
                      "the name of a PersistentVolumeClaim; with --size, of a storage or a StorageClass");
  if (request.size.empty()) {
    pod.claim = request.storage;
    return {};
  }
  TRY(size_of("--size", request.size));
  pod.claim = request.name;
  pod.size = request.size;
  pod.storage_class = request.storage;
  return {};
}

Result<> check_command(const std::vector<std::string>& command) {
  constexpr std::size_t most = 64u << 10;
  std::size_t bytes = 0;
  for (const std::string& word : command) bytes += word.size() + 1;
  if (bytes > most)
    return base::fail(Fault::usage,
                      fmt::format("the command after -- is longer than {}", base::human_bytes(most)),
                      "put it into the image or into a file of the volume");
  return {};
}

}  // namespace

std::string_view noun_of(std::string_view kind) {
  return kind == serve_kind ? "served model" : kind;
}

Result<ServicePod> make_service_pod(std::string_view kind, const ServicePodRequest& request,
                                    std::string_view image_example) {
  TRY(check_service_name(noun_of(kind), request.name));
  TRY(check_namespace(request.ns));
  ServicePod pod;
  pod.kind = kind;
  pod.name = request.name;
  pod.ns = request.ns;
  pod.gpus = TRY(parse_gpus("--gpus", request.gpus));
  pod.gpus_text = request.gpus;
  if (!request.image.empty()) TRY(check_image(request.image, image_example));
  pod.image = request.image;
  TRY(set_volume(request, pod));
  pod.mount = request.mount;
  if (!request.cpus.empty()) TRY(millicpus_of("--cpus", request.cpus));
  TRY(check_quantity("--memory", request.memory));
  TRY(check_quantity("--shm", request.shm));
  if (!request.memory.empty() && !request.shm.empty() &&
      TRY(bytes_of("--shm", request.shm)) > TRY(bytes_of("--memory", request.memory)))
    return base::fail(
        Fault::usage,
        fmt::format("--shm {} is more than --memory {}, which it counts to", request.shm, request.memory),
        "increase --memory, or decrease --shm");
  pod.cpus = request.cpus;
  pod.memory = request.memory;
  pod.shm = request.shm;
  pod.reach = request.reach;
  TRY(check_command(request.command));
  pod.command = request.command;
  return pod;
}

std::vector<std::vector<std::string>> service_kinds(GpuClaims claims, OwnVolume volume) {
  std::vector<std::string> rest = {"pods", "services", "secrets"};
  if (claims == GpuClaims::yes) rest.emplace_back("resourceclaimtemplates.resource.k8s.io");
  if (volume == OwnVolume::deleted) rest.emplace_back("persistentvolumeclaims");
  return {{"deployments.apps"}, {"replicasets.apps"}, std::move(rest)};
}

}  // namespace workload
