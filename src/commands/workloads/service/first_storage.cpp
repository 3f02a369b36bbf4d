#include "commands/workloads/service/first_storage.hpp"

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

/// Why no pod with such GPUs can run on a host now; empty: one can.
std::string why_not(const facts::Facts& host, const facts::ClusterFacts& cluster,
                    const workload::GpuSupply& supply, const workload::GpuRequest& gpus) {
  const facts::Node* node = facts::node_of(cluster, host);
  if (!node) return "not a node";
  if (std::string why = workload::why_no_pods(*node); !why.empty()) return why;
  if (!gpus.any()) return {};
  workload::GpuSupply own = supply;
  std::erase_if(own.offers, [&](const workload::GpuOffer& offer) { return offer.node != node->name; });
  const bool fits = check_fit(own, gpus, 1, workload::Placement::anywhere).has_value();
  return fits ? std::string() : fmt::format("{} not free", workload::describe(gpus));
}

/// The command that makes the storage.
std::string command_for(const FirstStorage& place) {
  return fmt::format("gpuadm storage add {} local --host {} --path {}", place.name, place.host, place.path);
}

Result<FirstStorage> place_in(ReachedCluster& cluster, const std::string& size, const ServicePlan& plan) {
  const long long bytes = TRY(workload::size_of("--size", size));
  const auto fleet = cluster.connections().fleet(session::Access::read_only);
  const session::Survey survey = TRY(session::take_census(*fleet, cluster.assets()));
  return place_first_storage(survey.census, TRY(cluster.client().read_nodes_and_pods()), plan.supply,
                             plan.pod.gpus, static_cast<unsigned long long>(std::max(0LL, bytes)));
}

Result<> confirm(const FirstStorage& place, const std::string& size, const Hosts& hosts, Consent consent,
                 const Io& io) {
  if (consent == Consent::given) return {};
  const std::string question = fmt::format(
      "The cluster has no storage for a volume of {}. Make the local storage {} in {} on {} ({} free)? Its "
      "files are on this host only.{}",
      base::printable(size, 50), place.name, place.path, base::printable(place.host, 80),
      base::human_bytes(place.free),
      hosts.file.empty() ? "" : fmt::format(" It is added to {}.", base::printable(hosts.file.string())));
  const auto yes = io.confirm ? io.confirm(question) : std::nullopt;
  if (yes == true) return {};
  return base::fail(Fault::blocked, "--size: the cluster has no storage, so no volume can be created",
                    yes ? command_for(place)
                        : fmt::format("add -y to make the storage {} on {}, or: {}", place.name, place.host,
                                      command_for(place)));
}

}  // namespace

Result<FirstStorage> place_first_storage(const facts::Census& census, const facts::ClusterFacts& cluster,
                                         const workload::GpuSupply& supply, const workload::GpuRequest& gpus,
                                         unsigned long long bytes) {
  FirstStorage best;
  std::vector<std::string> seen;
  for (const auto& [name, host] : census) {
    std::string why = host ? why_not(*host, cluster, supply, gpus) : "could not be read";
    const auto known = host && why.empty() ? free_at(*host, best.path) : std::nullopt;
    const unsigned long long free = known.value_or(0);
    if (why.empty()) why = known ? base::human_bytes(free) + " free" : "free space unknown";
    seen.push_back(name + ": " + why);
    if (free == 0 || free < bytes || (!best.host.empty() && free <= best.free)) continue;
    best.host = name;
    best.free = free;
  }
  if (!best.host.empty()) return best;
  return base::fail(
      Fault::blocked,
      fmt::format("--size: no host that can run it has {} of free space in {} for a local storage{}",
                  base::human_bytes(bytes), best.path,
                  seen.empty() ? "" : " (" + base::join(seen, ", ") + ")"),
      "gpuadm storage add NAME nfs --server HOST --export PATH");
}

Result<std::string> make_first_storage(const std::string& size, const ServicePlan& plan,
                                       const NamedService& options, Consent consent, ReachedCluster& cluster,
                                       Io& io) {
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
  const FirstStorage place = TRY(place_in(cluster, size, plan));
  TRY(confirm(place, size, options.hosts, consent, io));
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
