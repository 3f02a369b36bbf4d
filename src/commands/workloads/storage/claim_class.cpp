#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include "commands/workloads/storage/claim.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

using base::Fault;
using base::Tree;

Result<> check_new_claim(const workload::StorageClaim& claim, session::ClusterClient& client) {
  const auto claims = TRY(client.get({{"persistentvolumeclaims"}, claim.ns, {}}));
  if (std::ranges::count(workload::names_in(claims, "PersistentVolumeClaim"), claim.name) == 0) return {};
  return base::fail(
      Fault::usage, fmt::format("the namespace {} already has a claim named {}", claim.ns, claim.name),
      fmt::format("choose another name, or delete it: kubectl -n {} delete pvc {}", claim.ns, claim.name));
}

Result<Outcome> claim_from_class(const workload::StorageClaim& claim, const std::string& storage_class,
                                 Format format, session::ClusterClient& client, Io& io) {
  if (!claim.owner.empty())
    return base::fail(Fault::usage,
                      "--owner: the owner of a folder on hosts, which a kubeconfig does not reach",
                      "leave it out: a StorageClass decides who owns its volumes");
  const auto names = workload::names_in(TRY(client.get({{"storageclasses"}, {}, {}})), "StorageClass");
  if (std::ranges::count(names, storage_class) == 0)
    return base::fail(
        Fault::blocked,
        fmt::format("the cluster has no StorageClass {}, and a kubeconfig does not reach storages of gpuadm, "
                    "which are folders of hosts",
                    base::printable(storage_class, 80)),
        fmt::format(
            "{}an administrator can make this claim over SSH",
            names.empty() ? "" : "--on " + base::printable(base::join(names, " or --on "), 300) + "; "));
  TRY(check_new_claim(claim, client));
  TRY(client.create(claim.ns, {workload::claim_of_class(claim, storage_class, "ReadWriteOnce")}));
  io.out(format == Format::json
             ? base::json::write(Tree::map_of(
                   {{"name", claim.name}, {"namespace", claim.ns}, {"storageClass", storage_class}})) +
                   "\n"
             : fmt::format("claim {} in namespace {}: {} of the StorageClass {}\n", claim.name, claim.ns,
                           claim.size, storage_class));
  return Outcome::done;
}

}  // namespace commands
