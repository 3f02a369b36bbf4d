#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/notebook.hpp"
#include "gpuadm/workload/objects.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Fault;

Result<> check_quantity(const char* option, const std::string& text) {
  if (!text.empty()) TRY(size_of(option, text));
  return {};
}

/// A claim is an existing one, or a new one named like the notebook.
Result<> set_volume(const NotebookRequest& request, Notebook& notebook) {
  if (request.size.empty() && request.storage.empty()) return {};
  if (!request.storage.empty() && !base::is_dns_name(request.storage))
    return base::fail(Fault::usage,
                      fmt::format("--storage: not a name: {}", base::printable(request.storage, 80)),
                      "the name of a PersistentVolumeClaim; with --size, of a storage or a StorageClass");
  if (request.size.empty()) {
    notebook.claim = request.storage;
    return {};
  }
  TRY(size_of("--size", request.size));
  notebook.claim = request.name;
  notebook.size = request.size;
  notebook.storage_class = request.storage;
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

Result<Notebook> make_notebook(const NotebookRequest& request) {
  TRY(check_service_name("notebook", request.name));
  TRY(check_namespace(request.ns));
  Notebook notebook;
  notebook.name = request.name;
  notebook.ns = request.ns;
  notebook.gpus = TRY(parse_gpus("--gpus", request.gpus));
  notebook.gpus_text = request.gpus;
  // The name of a framework in the catalog has the form of a reference, too.
  if (!request.image.empty())
    TRY(check_image(request.image,
                    "for example --image pytorch, or --image quay.io/jupyter/scipy-notebook:2026-07-28"));
  notebook.image = request.image;
  TRY(set_volume(request, notebook));
  TRY(check_mount("--mount", request.mount, "--mount /home/jovyan/work"));
  notebook.mount = request.mount;
  if (!request.cpus.empty()) TRY(millicpus_of("--cpus", request.cpus));
  TRY(check_quantity("--memory", request.memory));
  TRY(check_quantity("--shm", request.shm));
  if (!request.memory.empty() && !request.shm.empty() &&
      TRY(bytes_of("--shm", request.shm)) > TRY(bytes_of("--memory", request.memory)))
    return base::fail(
        Fault::usage,
        fmt::format("--shm {} is more than --memory {}, which it counts to", request.shm, request.memory),
        "increase --memory, or decrease --shm");
  notebook.cpus = request.cpus;
  notebook.memory = request.memory;
  notebook.shm = request.shm;
  notebook.reach = request.reach;
  TRY(check_command(request.command));
  notebook.command = request.command;
  return notebook;
}

}  // namespace workload
