#include "gpuadm/base/text.hpp"

#include "workload/train/train_pod.hpp"

#include <fmt/format.h>

#include <map>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

/// What is mounted at a directory, by the directory.
using Mounts = std::map<std::string, std::string, std::less<>>;

Mounts mounts_of_gpuadm(const TrainJob& job) {
  Mounts mounts;
  if (!job.source.empty())
    for (const std::string_view directory : {source_folder, read_only_source})
      mounts.emplace(directory, "the files of --src");
  if (job.framework == Framework::mpi)
    for (const std::string_view directory : {keys_folder, mpi_folder})
      mounts.emplace(directory, "the SSH keys of the job");
  if (job.framework == Framework::mpi) mounts.emplace(hosts_folder, "the host file of the job");
  return mounts;
}

/// "the claim data", "the volume cache"
std::string describe_volume(const Tree& pod, const std::string& name) {
  if (const Tree* volumes = pod.find("volumes"))
    for (const Tree& volume : volumes->items())
      if (const std::string claim = text_at(volume, {"persistentVolumeClaim", "claimName"});
          text_at(volume, {"name"}) == name && !claim.empty())
        return "the claim " + base::printable(claim, 80);
  return "the volume " + base::printable(name, 80);
}

Result<> check_container(const Tree& pod, const Tree& container, Mounts mounts) {
  const Tree* list = container.find("volumeMounts");
  if (!list) return {};
  for (const Tree& one : list->items()) {
    const std::string directory = plain_directory(text_at(one, {"mountPath"}));
    const std::string what = describe_volume(pod, text_at(one, {"name"}));
    const auto [other, is_free] = mounts.emplace(directory, what);
    if (!is_free)
      return base::fail(Fault::usage,
                        fmt::format("{} and {} would both be mounted at {}", other->second, what,
                                    base::printable(directory, 80)),
                        "use another directory: --storage NAME:PATH, or mountPath in the manifest");
  }
  return {};
}

}  // namespace

Result<> check_mounts(const TrainJob& job) {
  const Mounts ours = mounts_of_gpuadm(job);
  for (const Role& role : job.roles)
    if (const Tree* containers = role.pod.find("containers"))
      for (const Tree& container : containers->items()) TRY(check_container(role.pod, container, ours));
  return {};
}

}  // namespace workload
