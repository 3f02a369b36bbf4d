#include "gpuadm/cluster/status.hpp"

#include <fmt/format.h>

#include <algorithm>

/// GPUs of the hosts, and how many of them pods use.
namespace cluster {

namespace {

/// Pods that hold GPUs of the node of a host. Without the pods, or the claims by which the node allocates,
/// their number is unknown.
void add_pods(const ClusterSurvey& survey, GpuUse& use) {
  const auto place = survey.census.find(use.counts.host);
  const bool is_read = place != survey.census.end() && place->second.has_value();
  const facts::Node* node = survey.view && is_read ? node_of(*survey.view, *place->second) : nullptr;
  const bool lacks_node = survey.view && survey.view->nodes && is_read && node == nullptr;
  const bool claimed = node && allocates_by_claims(*survey.view, *node);
  const bool counted = node && survey.view->pods && !survey.view->unread.contains("resourceslices") &&
                       (!claimed || survey.view->resource_claims);
  if (lacks_node || counted) use.used = 0;
  if (!node || !use.used) return;
  for (const facts::Pod* pod : gpu_pods(*survey.view, node->name)) {
    if (!claimed)
      for (const auto& [resource, number] : pod->gpus) *use.used += number;
    use.pods.push_back(pod->full());
  }
  for (const facts::GpuDevice& device : gpu_devices(*survey.view, node->name))
    *use.used += !device.claim.empty();
}

void judge_gpus(const ClusterSurvey& survey, const GpuCounts& counts, Status& status) {
  const auto row = std::ranges::find_if(
      status.gpus, [&](const GpuRow& one) { return one.host == counts.host && one.allocatable == false; });
  const std::string why = row == status.gpus.end() ? "" : ": " + row->why;
  std::string what;
  if (counts.driver < counts.pci)
    what = fmt::format("{} GPUs are on the PCI bus, but the driver has {}{}", counts.pci, counts.driver, why);
  else if (survey.cluster.gpu.allocator != spec::Allocator::none && counts.allocatable &&
           *counts.allocatable < static_cast<long long>(counts.driver))
    what =
        fmt::format("the driver has {} GPUs, but pods can use {}{}", counts.driver, *counts.allocatable, why);
  if (!what.empty())
    status.verdict.problems.push_back({counts.host,
                                       std::move(what),
                                       fmt::format("gpuadm doctor {} --stage node", counts.host),
                                       {"gk.allocatable-vs-physical"}});
}

}  // namespace

void add_gpus(const ClusterSurvey& survey, const std::vector<report::Finding>& findings, Status& status) {
  GpuTable table = gpu_table(survey.cluster, survey.census, survey.view, findings);
  status.gpus = std::move(table.rows);
  for (GpuCounts& counts : table.counts) {
    GpuUse use{std::move(counts), std::nullopt, {}};
    add_pods(survey, use);
    judge_gpus(survey, use.counts, status);
    status.gpu_hosts.push_back(std::move(use));
  }
}

}  // namespace cluster
