#include "gpuadm/base/text.hpp"

#include "commands/workloads/service/service_plan.hpp"
#include "commands/workloads/service/verbs.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

/// Whether the own volume is deleted too.
Result<bool> decide(const ServiceDeleteOptions& options, const ServiceVolumes& volumes, const Io& io) {
  if (volumes.own.empty() || options.volume == VolumeFate::keep) return false;
  if (options.volume == VolumeFate::purge) return true;
  const auto answer = io.confirm(fmt::format("Also delete the volume {}/{} ({}) with all files in it?",
                                             options.service.ns, volumes.own, volumes.size));
  if (!answer)
    return base::fail(Fault::usage, fmt::format("the {} has a volume with files", with_noun(options.service)),
                      "add --keep-volume to keep it, or --purge to delete it");
  return *answer;
}

bool uses_claims(const std::vector<Tree>& objects) {
  const Tree* deployment = object_of(objects, "Deployment");
  return deployment && deployment->at({"spec", "template", "spec", "resourceClaims"});
}

}  // namespace

void add_service_delete(Line& line, ServiceDeleteOptions& options) {
  add_named(line, options.service);
  const Option keep = line.flag(
      "--keep-volume", options.volume, VolumeFate::keep,
      fmt::format("Keep the volume: a new {} of this name uses it", workload::noun_of(options.service.kind))
          .c_str());
  line.flag("--purge", options.volume, VolumeFate::purge, "Also delete the volume, without asking")
      .excludes(keep);
}

Result<Outcome> delete_service(const ServiceDeleteOptions& options, Io& io) {
  const NamedService& service = options.service;
  const auto cluster = TRY(reach_service(service, session::Access::full, io));
  const auto objects = TRY(find_service(*cluster, service));
  const ServiceVolumes volumes = service_volumes(objects);
  const bool purge = TRY(decide(options, volumes, io));
  const Tree* claim = purge ? object_of(objects, "PersistentVolumeClaim") : nullptr;
  const auto on_storage =
      claim ? TRY(claim_of_service(*claim, service.hosts, *cluster)) : std::optional<ClaimPlan>();
  TRY(remove_service(*cluster, service.ns, selector_of(service),
                     uses_claims(objects) ? workload::GpuClaims::yes : workload::GpuClaims::no,
                     purge ? workload::OwnVolume::deleted : workload::OwnVolume::kept));
  if (on_storage) TRY(remove_volume(*on_storage, ClaimFiles::deleted, cluster->client()));
  io.out(fmt::format("the {} is deleted{}\n", with_noun(service),
                     purge ? ", with its volume " + volumes.own : ""));
  if (!purge && !volumes.own.empty())
    io.out(fmt::format("the volume {}/{} ({}) is kept; a new {} {} uses it, {} --purge deletes it\n",
                       service.ns, volumes.own, volumes.size, workload::noun_of(service.kind), service.name,
                       command_for("delete", service)));
  if (!volumes.foreign.empty())
    io.out(fmt::format("the volume {}/{}, which it mounted, is not changed\n", service.ns, volumes.foreign));
  return Outcome::done;
}

}  // namespace commands
