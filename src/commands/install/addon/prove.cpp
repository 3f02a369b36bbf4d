#include "commands/install/addon/prove.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/quantity.hpp"
#include "gpuadm/workload/addon_proof.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/queue.hpp"

#include "commands/inspect/explain_pod.hpp"
#include "commands/workloads/wait_ready.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;
using workload::Addon;
using workload::AddonState;

Result<std::vector<Tree>> read_parts(const Addon& addon, session::ClusterClient& client) {
  return client.get({.kinds = {"deployments.apps", "daemonsets.apps", "pods"},
                     .ns = std::string(addon.ns),
                     .selector = workload::selector_of(workload::addon_kind, addon.name)});
}

base::Error part_not_ready(const Addon& addon, ReachedCluster& cluster, const AddonState& state,
                           Fault fault) {
  const auto reason = state.pod.empty()
                          ? std::nullopt
                          : reason_of(cluster.spec(), {std::string(addon.ns), state.pod}, cluster.client());
  std::string what = reason ? reason->what : state.why;
  if (what.empty()) what = state.line;
  return {fault, fmt::format("the add-on {} does not become ready: {}", addon.name, what),
          reason ? reason->fix : ""};
}

std::string proxy_path(const Addon& addon, const std::string& object, const std::string& path) {
  return fmt::format("/api/v1/namespaces/{}/{}/proxy/{}", addon.ns, object, path);
}

Result<std::string> prove_metrics_server(ReachedCluster& cluster, std::chrono::seconds timeout) {
  const auto nodes = workload::ready_nodes(TRY(cluster.client().get({{"nodes"}, {}, {}})));
  return prove_within(
      timeout, cluster, "the metrics API", [&](std::string& reason) -> Result<std::optional<std::string>> {
        const auto answer = cluster.client().raw("/apis/metrics.k8s.io/v1beta1/nodes");
        if (!answer && answer.error().fault != Fault::remote) return std::unexpected(answer.error());
        const auto uses = answer ? workload::read_node_metrics(*answer)
                                 : Result<std::vector<workload::NodeUse>>(std::unexpected(answer.error()));
        if (!uses) {
          reason = uses.error().what;
          return std::nullopt;
        }
        std::string first;
        for (const std::string& node : nodes) {
          const auto use = std::ranges::find(*uses, node, &workload::NodeUse::node);
          const auto cpu = use == uses->end() ? std::nullopt : kube::parse_quantity(use->cpu);
          const auto memory = use == uses->end() ? std::nullopt : kube::parse_quantity(use->memory);
          if (!cpu || !memory || *memory < 0 || *memory > 1e18) {
            reason = "no metrics of the node " + base::printable(node, 253);
            return std::nullopt;
          }
          if (first.empty())
            first = fmt::format("{} uses {:.2f} CPUs and {} of memory", use->node, *cpu,
                                base::human_bytes(static_cast<std::uint64_t>(*memory)));
        }
        return fmt::format("metrics of {} of {} Ready nodes: {}", nodes.size(), nodes.size(), first);
      });
}

Result<std::string> prove_dcgm(const Addon& addon, ReachedCluster& cluster, std::chrono::seconds timeout) {
  // Every GPU that DCGM supports has a temperature.
  constexpr const char* metric = "DCGM_FI_DEV_GPU_TEMP";
  return prove_within(
      timeout, cluster, "a metric of a GPU", [&](std::string& reason) -> Result<std::optional<std::string>> {
        const auto pods = workload::pods_by_node(TRY(read_parts(addon, cluster.client())));
        if (pods.empty()) reason = "there is no pod";
        std::string seen;
        for (const auto& [node, pod] : pods) {
          const auto answer = cluster.client().raw(proxy_path(addon, "pods/" + pod + ":9400", "metrics"));
          if (!answer && answer.error().fault != Fault::remote) return std::unexpected(answer.error());
          const auto sample = answer ? workload::find_sample(*answer, metric) : std::nullopt;
          if (!sample) {
            reason =
                fmt::format("{}: {}", base::printable(node, 253),
                            answer ? fmt::format("no {} among its metrics", metric) : answer.error().what);
            return std::nullopt;
          }
          if (seen.empty()) seen = *sample;
        }
        if (pods.empty()) return std::nullopt;
        return fmt::format("metrics of GPUs on {} node{}: {}", pods.size(), pods.size() == 1 ? "" : "s",
                           seen);
      });
}

Result<std::string> prove_prometheus(const Addon& addon, ReachedCluster& cluster,
                                     std::chrono::seconds timeout) {
  const auto path = [&](const std::string& query) {
    return proxy_path(addon, "services/prometheus:9090", "api/v1/" + query);
  };
  // sum(container_cpu_usage_seconds_total{id="/"}): CPU time of the nodes since their boot.
  const std::string query = "query?query=sum(container_cpu_usage_seconds_total%7Bid%3D%22%2F%22%7D)";
  // What was up before the proof began may be down.
  std::optional<std::string> since;
  return prove_within(
      timeout, cluster, "the targets of Prometheus",
      [&](std::string& reason) -> Result<std::optional<std::string>> {
        const auto answer = cluster.client().raw(path("targets?state=active"));
        if (!answer && answer.error().fault != Fault::remote) return std::unexpected(answer.error());
        const auto targets = answer ? workload::read_targets(*answer)
                                    : Result<workload::ScrapeTargets>(std::unexpected(answer.error()));
        if (!targets) {
          reason = targets.error().what;
          return std::nullopt;
        }
        if (!since) since = targets->newest;
        reason =
            targets->down.empty() ? "targets were not scraped since the proof began" : targets->down.front();
        for (const char* job : {"prometheus", "kubelet", "cadvisor"})
          if (!targets->jobs.contains(job)) {
            reason = fmt::format("the job {} has no targets", job);
            return std::nullopt;
          }
        if (!targets->down.empty() || targets->unknown > 0 || targets->oldest <= *since) return std::nullopt;
        const auto value = workload::read_query(TRY(cluster.client().raw(path(query))));
        if (!value) return std::unexpected(value.error());
        if (!*value) {
          reason = "the CPU time of the nodes has no value yet";
          return std::nullopt;
        }
        return fmt::format(
            "{} targets are up ({}); CPU time of the nodes: {:.0f} s", targets->up,
            base::join(std::vector<std::string>(targets->jobs.begin(), targets->jobs.end()), ", "), **value);
      });
}

}  // namespace

Result<> wait_addon(const Addon& addon, ReachedCluster& cluster, std::chrono::seconds timeout, Io& io) {
  AddonState state;
  return wait_until_ready(
      cluster, timeout,
      [&]() -> Result<ReadyProgress> {
        state = workload::read_addon_state(TRY(read_parts(addon, cluster.client())));
        return ReadyProgress{state.ready, state.outlook,
                             state.line + (state.why.empty() ? "" : ": " + state.why)};
      },
      [&](Fault fault) { return part_not_ready(addon, cluster, state, fault); }, io);
}

Result<std::string> prove_addon(const Addon& addon, ReachedCluster& cluster, std::chrono::seconds timeout,
                                Io& io) {
  if (addon.name == "local-path") return prove_local_path(addon, cluster, timeout);
  if (addon.name == "metrics-server") return prove_metrics_server(cluster, timeout);
  if (addon.name == "dcgm-exporter") return prove_dcgm(addon, cluster, timeout);
  if (addon.name == "prometheus") return prove_prometheus(addon, cluster, timeout);
  if (addon.name == workload::kueue_addon) return prove_kueue(addon, cluster, timeout);
  return prove_jupyterhub(addon, cluster, timeout, io);
}

}  // namespace commands
