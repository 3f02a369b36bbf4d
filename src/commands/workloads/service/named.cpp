#include "commands/workloads/service/named.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/state.hpp"

#include <fmt/format.h>

namespace commands {

using base::Tree;

void add_named(Line& line, NamedService& service) {
  line.argument("NAME", service.name, fmt::format("Name of the {}", workload::noun_of(service.kind)))
      .required();
  add_hosts(line, service.hosts);
  add_access(line, service.common, service.ns);
  add_connection(line, service.common);
}

std::string selector_of(const NamedService& service) {
  return workload::selector_of(service.kind, service.name);
}

std::string shown(const NamedService& service) {
  return service.ns + "/" + service.name;
}

std::string with_noun(const NamedService& service) {
  return fmt::format("{} {}", workload::noun_of(service.kind), shown(service));
}

std::string command_for(const char* verb, const NamedService& service) {
  return fmt::format("gpuadm {} {} {}{}{}", service.kind, verb, service.name,
                     session::typed(service.hosts, service.common.connection),
                     service.ns == "default" ? "" : " -n " + service.ns);
}

Result<std::unique_ptr<ReachedCluster>> reach_service(const NamedService& service, session::Access access,
                                                      Io& io) {
  TRY(workload::check_name(workload::noun_of(service.kind), service.name));
  TRY(workload::check_namespace(service.ns));
  return ReachedCluster::open(service.hosts, service.common, access, io);
}

ServiceVolumes service_volumes(const std::vector<Tree>& objects) {
  ServiceVolumes volumes;
  if (const Tree* claim = object_of(objects, "PersistentVolumeClaim")) {
    volumes.own = base::printable(text_at(*claim, {"metadata", "name"}), 300);
    volumes.size = base::printable(text_at(*claim, {"spec", "resources", "requests", "storage"}), 50);
  }
  for (const workload::WorkloadRow& row : workload::workload_rows(objects))
    if (row.volume != volumes.own) volumes.foreign = row.volume;
  return volumes;
}

}  // namespace commands
