#include "commands/workloads/serve/serve_plan.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/spec/storage.hpp"
#include "gpuadm/workload/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr const char* serve_catalog = "playbooks/catalog.yaml";

/// "storage:/claim/path" is "claim:/path".
Result<> use_first_part(workload::ModelSource& source) {
  const std::size_t end = source.path.find('/', 1);
  const std::string claim = source.path.substr(1, end == std::string::npos ? end : end - 1);
  if (!workload::check_name("claim", claim))
    return base::fail(
        Fault::usage,
        fmt::format("--model: {}: the first part of the path on a storage is the name of a claim",
                    base::printable(source.text(), 200)),
        fmt::format("--model {}:/CLAIM/PATH; gpuadm storage list shows the claims", source.storage));
  source.storage = claim;
  source.path = end == std::string::npos ? "/" : source.path.substr(end);
  return {};
}

/// The claim with the model: it has that name, or is on the storage of that name. Returns whether it is on a
/// storage of gpuadm.
Result<bool> find_claim(workload::ModelSource& source, const std::string& ns, const Hosts& hosts,
                        ReachedCluster& cluster) {
  if (source.kind != workload::ModelSource::Kind::storage) return false;
  const auto objects = TRY(cluster.client().get({{"persistentvolumeclaims"}, ns, {}}));
  std::vector<std::string> names = workload::names_in(objects, "PersistentVolumeClaim");
  const auto has = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  if (has(source.storage))
    return std::ranges::any_of(workload::claims_in(objects), [&](const workload::ClaimOnStorage& claim) {
      return claim.name == source.storage;
    });
  const spec::Cluster known = TRY(with_known_storages(hosts, cluster.spec(), cluster.client()));
  const std::string storage = source.storage;
  if (spec::find_storage(known, storage)) {
    TRY(use_first_part(source));
    for (const workload::ClaimOnStorage& claim : workload::claims_in(objects))
      if (claim.storage == storage && claim.name == source.storage) return true;
  }
  return base::fail(
      Fault::blocked,
      fmt::format("--model: there is no claim {} in the namespace {} (claims there: {})", source.storage, ns,
                  names.empty() ? "none" : base::printable(base::join(names, ", "), 300)),
      fmt::format("gpuadm storage claim {} --size 100Gi --on STORAGE -n {}", source.storage, ns));
}

/// HF_ENDPOINT of the operator: the mirror that the pods use, too.
Result<std::string> hub_endpoint() {
  const char* given = std::getenv("HF_ENDPOINT");
  const std::string endpoint = given ? given : "";
  const bool valid = endpoint.empty() ||
                     ((endpoint.starts_with("https://") || endpoint.starts_with("http://")) &&
                      base::printable(endpoint, 300) == endpoint && endpoint.find(' ') == std::string::npos);
  if (valid) return endpoint;
  return base::fail(Fault::usage,
                    fmt::format("HF_ENDPOINT: not an address: {}", base::printable(endpoint, 80)),
                    "for example HF_ENDPOINT=https://huggingface.co");
}

/// The image, and what the plan of the pod has decided.
Result<ServePlan> complete_serve(ServicePlan service, workload::ModelServer server) {
  server.pod = service.pod;
  if (server.pod.image.empty())
    server.pod.image =
        TRY(workload::image_for(server.engine.images, server.engine.name, server.pod.gpus, service.cuda));
  if (server.source.kind == workload::ModelSource::Kind::hub) server.hub_endpoint = TRY(hub_endpoint());
  service.pod.image = server.pod.image;
  return ServePlan{std::move(service), std::move(server)};
}

}  // namespace

Result<workload::ModelServer> read_request(const workload::ServeRequest& request,
                                           const assets::Store& assets) {
  return workload::make_server(request,
                               TRY(base::yaml::read(TRY(assets.read(serve_catalog)), serve_catalog)));
}

Result<ServePlan> plan_serve(const workload::ServeRequest& request, const Hosts& hosts,
                             ReachedCluster& cluster, const std::vector<std::string>& replaced) {
  workload::ModelServer server = TRY(read_request(request, cluster.assets()));
  const bool is_on_storage = TRY(find_claim(server.source, server.pod.ns, hosts, cluster));
  ServicePlan service = TRY(plan_service(server.pod, hosts, cluster, replaced));
  server.rolling =
      check_fit(service.supply, server.pod.gpus, server.replicas + 1, workload::Placement::anywhere)
          .has_value();
  ServePlan plan = TRY(complete_serve(std::move(service), std::move(server)));
  plan.is_on_storage = is_on_storage;
  return plan;
}

Result<ServePlan> plan_serve_offline(const workload::ServeRequest& request, const Hosts& hosts,
                                     const Common& common) {
  const assets::Store assets = TRY(assets::Store::open(common.assets));
  workload::ModelServer server = TRY(read_request(request, assets));
  if (!hosts.file.empty() && server.source.kind == workload::ModelSource::Kind::storage) {
    const spec::Cluster cluster = TRY(session::read_cluster(hosts, common.connection));
    if (spec::find_storage(cluster, server.source.storage)) TRY(use_first_part(server.source));
  }
  ServicePlan service = TRY(plan_service_offline(server.pod, hosts, common));
  TRY(workload::resolve_volume(server, service.pod.claim));
  return complete_serve(std::move(service), std::move(server));
}

}  // namespace commands
