#include "commands/workloads/notebook/notebook_plan.hpp"

#include "gpuadm/base/yaml.hpp"

namespace commands {

namespace {

constexpr const char* catalog_file = "playbooks/catalog.yaml";

Result<> choose_image(ServicePlan& plan, const assets::Store& assets) {
  const base::Tree catalog = TRY(base::yaml::read(TRY(assets.read(catalog_file)), catalog_file));
  plan.pod.image = TRY(workload::image_of(catalog, plan.pod.image, plan.pod.gpus, plan.cuda));
  return {};
}

}  // namespace

Result<ServicePlan> plan_notebook(const workload::NotebookRequest& request, const Hosts& hosts,
                                  ReachedCluster& cluster, const std::vector<std::string>& replaced) {
  ServicePlan plan = TRY(plan_service(TRY(workload::make_notebook(request)), hosts, cluster, replaced));
  TRY(choose_image(plan, cluster.assets()));
  return plan;
}

Result<ServicePlan> plan_notebook_offline(const workload::NotebookRequest& request, const Hosts& hosts,
                                          const Common& common) {
  ServicePlan plan = TRY(plan_service_offline(TRY(workload::make_notebook(request)), hosts, common));
  const assets::Store assets = TRY(assets::Store::open(common.assets));
  TRY(choose_image(plan, assets));
  return plan;
}

}  // namespace commands
