#include "commands/workloads/storage/claim_folders.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/storage.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/workloads/storage/claim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr int not_mounted = 4;  ///< exit status of playbooks/storage-claim.sh

Result<transport::Command> look_command(const spec::Storage& storage, const std::string& ns,
                                        const std::vector<std::string>& claims, const assets::Store& assets) {
  return session::command_of({.label = "look at the folders of claims",
                              .asset = "playbooks/storage-claim.sh",
                              .variables = {{"action", "look"},
                                            {"storage_name", storage.name},
                                            {"storage_kind", spec::row_of(storage.kind).name},
                                            {"storage_place", spec::place_of(storage)},
                                            {"namespace", ns},
                                            {"name", base::join(claims, "\n")},
                                            {"mode", ""},
                                            {"owner", ""}}},
                             assets);
}

}  // namespace

std::vector<std::string> claims_of_pod(const Tree& pod_spec) {
  std::vector<std::string> names;
  const Tree* volumes = pod_spec.find("volumes");
  if (!volumes) return names;
  for (const Tree& volume : volumes->items())
    if (volume.find("persistentVolumeClaim"))
      names.push_back(text_at(volume, {"persistentVolumeClaim", "claimName"}));
  return names;
}

Result<> check_claim_folders(const spec::Storage& storage, const std::string& ns,
                             const std::vector<std::string>& claims, const spec::Cluster& cluster,
                             session::ClusterClient& client, const Io& io) {
  const transport::Command command = TRY(look_command(storage, ns, claims, client.assets()));
  transport::Fleet& fleet = client.fleet();
  for (const spec::Host& host : cluster.hosts)
    if (spec::is_on(storage, host)) fleet.submit(host.name, command);
  std::vector<std::string> problems;
  while (const auto completion = fleet.next()) {
    const std::string host = base::printable(completion->host);
    if (!completion->result)
      io.err(fmt::format("the folders of claims on the storage {} were not checked on {}: {}\n", storage.name,
                         host, base::printable(completion->result.error().what, 500)));
    else if (completion->result->status != 0 && completion->result->status != not_mounted)
      problems.push_back(fmt::format("{}: {}", host, base::tail(completion->result->err, 3)));
  }
  if (fleet.interrupted())
    return base::fail(Fault::interrupted, "interrupted: look at the folders of claims");
  if (problems.empty()) return {};
  std::ranges::sort(problems);
  return base::fail(Fault::blocked, base::join(problems, "\n"), "gpuadm storage list shows every host");
}

Result<> check_claims_of_pod(const std::vector<std::string>& claims, const std::string& ns,
                             const Hosts& hosts, const spec::Cluster& cluster, session::ClusterClient& client,
                             const Io& io) {
  if (claims.empty() || client.is_limited()) return {};
  std::map<std::string, std::vector<std::string>> by_storage;
  for (const workload::ClaimOnStorage& claim :
       workload::claims_in(TRY(client.get({{"persistentvolumeclaims"}, ns, {}}))))
    if (std::ranges::find(claims, claim.name) != claims.end())
      by_storage[claim.storage].push_back(claim.name);
  if (by_storage.empty()) return {};
  const spec::Cluster known = TRY(with_known_storages(hosts, cluster, client));
  for (const auto& [name, names] : by_storage) {
    if (const spec::Storage* storage = spec::find_storage(known, name))
      TRY(check_claim_folders(*storage, ns, names, known, client, io));
    else
      io.err(fmt::format("the folder of the claim {} was not checked: the cluster file has no storage {}\n",
                         base::printable(names.front(), 300), base::printable(name, 80)));
  }
  return {};
}

}  // namespace commands
