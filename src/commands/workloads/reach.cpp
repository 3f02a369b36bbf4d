#include "commands/workloads/reach.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/state.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

using base::Fault;
using base::Tree;

Result<std::unique_ptr<ReachedCluster>> ReachedCluster::open(const Hosts& hosts, const Common& common,
                                                             session::Access access, Io& io) {
  assets::Store store = TRY(assets::Store::open(common.assets));
  std::unique_ptr<ReachedCluster> reached(new ReachedCluster(std::move(store)));
  reached->cluster_ = TRY(session::read_cluster(hosts, common.connection));
  reached->connections_ = TRY(session::Connections::open(reached->cluster_, common.connection, io));
  reached->fleet_ = reached->connections_->fleet(access);
  reached->client_.emplace(
      TRY(session::ClusterClient::open(reached->cluster_, *reached->fleet_, reached->assets_)));
  return reached;
}

const spec::Host& ReachedCluster::host() const {
  return *std::ranges::find(cluster_.hosts, client_->host(), &spec::Host::name);
}

Result<> pause(transport::Fleet& fleet, std::chrono::milliseconds time) {
  (void)fleet.next_until(base::Clock::now() + time);
  if (fleet.interrupted()) return base::fail(Fault::interrupted, "interrupted");
  return {};
}

Result<std::vector<Tree>> find_service(ReachedCluster& cluster, const NamedService& options) {
  const std::string_view noun = workload::noun_of(options.kind);
  TRY(workload::check_name(noun, options.name));
  TRY(workload::check_namespace(options.ns));
  const std::vector<std::string> kinds = {"deployments.apps", "pods", "services", "persistentvolumeclaims"};
  auto objects = TRY(cluster.client().get(
      {.kinds = kinds, .ns = options.ns, .selector = workload::selector_of(options.kind, options.name)}));
  if (!objects.empty()) return objects;
  std::vector<std::string> names;
  for (const workload::WorkloadRow& row :
       workload::workload_rows(TRY(cluster.client().get({.kinds = {"deployments.apps"},
                                                         .ns = options.ns,
                                                         .selector = workload::selector_of(options.kind)}))))
    names.push_back(row.name);
  const auto near = base::nearest(options.name, names);
  return base::fail(
      Fault::usage, fmt::format("there is no {} {} in the namespace {}", noun, options.name, options.ns),
      near            ? fmt::format("did you mean {}?", *near)
      : names.empty() ? "gpuadm workload list"
                      : fmt::format("{}s there: {}", noun, base::printable(base::join(names, ", "), 300)));
}

Result<> remove_service(ReachedCluster& cluster, const std::string& ns, const std::string& selector,
                        workload::GpuClaims claims, workload::OwnVolume volume) {
  for (const auto& kinds : workload::service_kinds(claims, volume))
    TRY(cluster.client().remove(ns, kinds, selector));
  return {};
}

void report_deletion(const std::string& what, const Io& io) {
  if (io.err_style.verbosity != report::Verbosity::quiet)
    io.err(fmt::format("deleting the objects of {} (at most {})\n", what,
                       base::human_seconds(static_cast<double>(session::end_of_pods.count()))));
}

const Tree* object_of(const std::vector<Tree>& objects, std::string_view kind) {
  for (const Tree& object : objects)
    if (const Tree* found = object.find("kind"); found && found->text() == kind) return &object;
  return nullptr;
}

}  // namespace commands
