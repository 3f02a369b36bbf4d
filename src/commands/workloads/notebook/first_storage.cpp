#include "commands/workloads/notebook/first_storage.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/workloads/storage/add.hpp"
#include "commands/workloads/storage/claim.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;

constexpr unsigned long long kib = 1024;

/// Bytes free on the file system of a path; nothing: it was not read.
std::optional<unsigned long long> free_at(const facts::Facts& host, std::string_view path) {
  const facts::Disk* best = nullptr;
  for (const facts::Disk& disk : host.storage.disks) {
    const bool holds = disk.path == "/" || path == disk.path || path.starts_with(disk.path + "/");
    if (holds && (!best || disk.path.size() > best->path.size())) best = &disk;
  }
  return best ? std::optional(best->free_kib * kib) : std::nullopt;
}

bool has_gpu(const facts::Facts& host) {
  return !host.nvidia.gpus.empty() || !host.nvidia.pci_gpus.empty();
}

/// The command that makes the storage.
std::string command_for(const FirstStorage& place) {
  return fmt::format("gpuadm storage add {} local --host {} --path {}", place.name, place.host, place.path);
}

Result<FirstStorage> place_in(ReachedCluster& cluster, const workload::NotebookRequest& request) {
  const long long bytes = TRY(workload::size_of("--size", request.size));
  const auto fleet = cluster.connections().fleet(session::Access::read_only);
  const session::Survey survey = TRY(session::take_census(*fleet, cluster.assets()));
  return place_first_storage(survey.census, !request.gpus.empty() && request.gpus != "0",
                             static_cast<unsigned long long>(std::max(0LL, bytes)));
}

Result<> confirm(const FirstStorage& place, const workload::NotebookRequest& request, Consent consent,
                 const Io& io) {
  if (consent == Consent::given) return {};
  const std::string question = fmt::format(
      "The cluster has no storage for a volume of {}. Make the local storage {} in {} on {} ({} free)? Its "
      "files are on this host only.",
      base::printable(request.size, 50), place.name, place.path, base::printable(place.host, 80),
      base::human_bytes(place.free));
  const auto yes = io.confirm ? io.confirm(question) : std::nullopt;
  if (yes == true) return {};
  return base::fail(Fault::blocked, "--size: the cluster has no storage, so no volume can be created",
                    yes ? command_for(place)
                        : fmt::format("add -y to make the storage {} on {}, or: {}", place.name, place.host,
                                      command_for(place)));
}

}  // namespace

Result<FirstStorage> place_first_storage(const facts::Census& census, bool needs_gpu,
                                         unsigned long long bytes) {
  FirstStorage best;
  std::vector<std::string> seen;
  for (const auto& [name, host] : census) {
    if (!host || (needs_gpu && !has_gpu(*host))) continue;
    const auto free = free_at(*host, best.path);
    seen.push_back(fmt::format("{}: {}", name, free ? base::human_bytes(*free) + " free" : "unknown"));
    if (!free || *free < bytes || (!best.host.empty() && *free <= best.free)) continue;
    best.host = name;
    best.free = *free;
  }
  if (!best.host.empty()) return best;
  return base::fail(Fault::blocked,
                    fmt::format("--size: no host has {} of free space in {} for a local storage{}",
                                base::human_bytes(bytes), best.path,
                                seen.empty() ? "" : " (" + base::join(seen, ", ") + ")"),
                    "gpuadm storage add NAME nfs --server HOST --export PATH");
}

Result<std::string> make_first_storage(const workload::NotebookRequest& request,
                                       const NotebookOptions& options, Consent consent,
                                       ReachedCluster& cluster, Io& io) {
  const spec::Cluster known = TRY(with_known_storages(options.hosts, cluster.spec(), cluster.client()));
  std::vector<std::string> names;
  for (const spec::Storage& storage : known.storage) names.push_back(storage.name);
  if (names.size() == 1) {
    io.err(fmt::format("the volume is on the storage {}, the only one of the cluster\n", names.front()));
    return names.front();
  }
  if (!names.empty())
    return base::fail(Fault::blocked, "--size: the cluster has no default StorageClass and several storages",
                      "name one with --storage: " + base::join(names, ", "));
  const FirstStorage place = TRY(place_in(cluster, request));
  TRY(confirm(place, request, consent, io));
  StorageAddOptions add{.common = options.common,
                        .hosts = options.hosts,
                        .name = place.name,
                        .kind = "local",
                        .host = place.host,
                        .path = place.path,
                        .server = {},
                        .exported = {},
                        .monitors = {},
                        .user = {},
                        .key_file = {},
                        .mount_options = {}};
  add.consent = Consent::given;
  const Outcome outcome = TRY(storage_add(add, io));
  if (outcome == Outcome::done) return place.name;
  return base::fail(outcome == Outcome::interrupted ? Fault::interrupted : Fault::remote,
                    fmt::format("the storage {} could not be made on {}", place.name, place.host),
                    command_for(place));
}

}  // namespace commands
