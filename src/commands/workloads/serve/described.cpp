#include "commands/workloads/serve/described.hpp"

#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/problems.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/addon.hpp"

#include "commands/workloads/service/verbs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;

/// The error of a served model, with the place in the file.
base::Error placed(base::Error error, const spec::Served& served, const std::filesystem::path& file) {
  return base::at_place(std::move(error), file.string(), served.mark, "serve " + served.name);
}

bool is_of_file(Fault fault) {
  return fault == Fault::blocked || fault == Fault::usage;
}

/// Whether the namespace is that of a user of the file who is still to be made.
Result<bool> is_still_missing(const std::string& ns, const spec::Cluster& described,
                              ReachedCluster& cluster) {
  if (std::ranges::find(described.users, ns, &spec::User::name_space) == described.users.end()) return false;
  return TRY(cluster.client().find({workload::reference_to({"v1", "Namespace", "", ns})})).empty();
}

/// Whether it can be served now.
Result<> check_new(const ServeCreateOptions& options, const spec::Cluster& described,
                   ReachedCluster& cluster) {
  if (TRY(is_still_missing(options.request.pod.ns, described, cluster))) return {};
  ServePlan plan = TRY(plan_serve(options.request, options.hosts, cluster));
  TRY(check_service(plan.service, options.request.replicas, options.hosts, cluster));
  return workload::resolve_volume(plan.server, plan.service.pod.claim);
}

Result<> compare(const spec::Served& served, const spec::Cluster& described, const Common& common,
                 const Hosts& hosts, ReachedCluster& cluster, DescribedModels& models) {
  const ServeCreateOptions options = options_of(served, common, hosts);
  const NamedService service = service_of(options);
  const auto existing = TRY(find_existing(cluster, service));
  if (existing.empty()) {
    TRY(check_new(options, described, cluster));
    models.changes.push_back({&served, false, {}});
  } else if (is_stopped(*object_of(existing, "Deployment"))) {
    models.notes.push_back(
        fmt::format("the {} is stopped and stays so: {}", with_noun(service), command_for("start", service)));
  } else if (auto changes = TRY(serve_changes(options, existing, cluster)); !changes.empty()) {
    models.changes.push_back({&served, true, std::move(changes)});
  }
  return {};
}

}  // namespace

ServeCreateOptions options_of(const spec::Served& served, const Common& common, const Hosts& hosts) {
  ServeCreateOptions options;
  options.common = common;
  options.hosts = hosts;
  options.hub_token = served.hub_token_file;
  workload::ServeRequest& request = options.request;
  request.model = served.model;
  request.engine = served.engine;
  request.port = served.server_port;
  request.health = served.health;
  if (!served.key_variable.empty()) request.key_variable = served.key_variable;
  request.replicas = served.replicas;
  request.context = served.context;
  request.without_key = served.without_key;
  workload::ServicePodRequest& pod = request.pod;
  pod.name = served.name;
  pod.ns = served.ns;
  pod.gpus = served.gpus;
  pod.image = served.image;
  pod.storage = served.storage;
  pod.size = served.size;
  pod.cpus = served.cpus;
  pod.memory = served.memory;
  pod.shm = served.shm;
  pod.command = served.command;
  pod.reach = served.node_port ? workload::Reach::node_port : workload::Reach::cluster;
  return options;
}

Result<> check_described(const spec::Cluster& cluster, const std::filesystem::path& file,
                         const assets::Store& assets) {
  std::vector<base::Error> refused;
  for (const spec::Served& served : cluster.serve) {
    const ServeCreateOptions options = options_of(served, {}, {});
    const auto requested = read_request(options.request, assets);
    const auto keys = requested ? new_keys(options, requested->engine)
                                : Result<workload::ServeKeys>(std::unexpected(requested.error()));
    if (!keys) refused.push_back(placed(keys.error(), served, file));
  }
  if (refused.empty()) return {};
  return std::unexpected(base::joined(refused));
}

Result<DescribedModels> compare_models(const spec::Cluster& cluster, const Common& common, const Hosts& hosts,
                                       Io& io) {
  const auto reached = TRY(ReachedCluster::open(hosts, common, session::Access::read_only, io));
  DescribedModels models;
  std::vector<base::Error> refused;
  for (const spec::Served& served : cluster.serve) {
    const auto compared = compare(served, cluster, common, hosts, *reached, models);
    if (compared) continue;
    if (!is_of_file(compared.error().fault)) return std::unexpected(compared.error());
    refused.push_back(placed(compared.error(), served, hosts.file));
  }
  if (!refused.empty()) return std::unexpected(base::joined(refused));
  return models;
}

std::string title_of(const DescribedModel& model) {
  const spec::Served& served = *model.served;
  const std::string name = served.ns == "default" ? served.name : served.ns + "/" + served.name;
  return (model.exists ? "Update the served model " : "Serve the model ") + name;
}

std::string diff_of(const DescribedModel& model) {
  if (!model.exists)
    return fmt::format("+{}, GPUs: {}\n",
                       model.served->model.empty() ? model.served->image : model.served->model,
                       model.served->gpus);
  std::string text;
  for (const workload::ServeChange& change : model.changes) {
    if (change.from.empty() && change.to.empty()) text += fmt::format("+{}\n", change.what);
    if (!change.from.empty()) text += fmt::format("-{}: {}\n", change.what, change.from);
    if (!change.to.empty()) text += fmt::format("+{}: {}\n", change.what, change.to);
  }
  return text;
}

}  // namespace commands
