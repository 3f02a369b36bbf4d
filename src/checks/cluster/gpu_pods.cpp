#include "gpuadm/base/text.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/queries.hpp"

#include <algorithm>
#include <array>

/// Pods that request or bypass GPUs.
namespace checks {

namespace {

void runtime_class(const Whole& w, Verdicts& out) {
  if (gpu_nodes(w, out).empty()) return;
  const auto* classes = given(w.facts.runtime_classes, out, "the runtime classes");
  if (!classes) return;
  const auto place = classes->find("nvidia");
  if (place != classes->end() && place->second != "nvidia")
    return out.fail(Severity::warning, "RuntimeClass nvidia has another handler than nvidia",
                    "handler " + place->second,
                    "kubectl delete runtimeclass nvidia, and apply one with handler: nvidia");
  if (place != classes->end()) return out.pass("RuntimeClass nvidia");
  const bool wanted = w.facts.pods && std::ranges::any_of(*w.facts.pods, [](const facts::Pod& pod) {
                        return pod.runtime_class == "nvidia";
                      });
  const bool by_hosts = std::ranges::any_of(w.hosts, [](const auto& host) {
    const auto& containerd = host.second->runtime.containerd;
    return containerd && containerd->runtimes.contains("nvidia") && containerd->default_runtime != "nvidia";
  });
  if (!wanted && !by_hosts) return out.skip("RuntimeClass nvidia is not needed");
  out.fail(Severity::blocker, "RuntimeClass nvidia does not exist: pods cannot use the nvidia runtime",
           wanted ? "pods name it" : "the nodes' default runtime is another one",
           "gpuadm init --phases gpu/runtime-class, or apply a RuntimeClass nvidia with handler: nvidia");
}

void overcommit(const Whole& w, Verdicts& out) {
  const auto nodes = gpu_nodes(w, out);
  const auto* pods = nodes.empty() ? nullptr : given(w.facts.pods, out, "the pods");
  if (!pods) return;
  for (const facts::Node* node : nodes) {
    std::map<std::string, long long> asked;
    for (const facts::Pod& pod : *pods)
      if (pod.node == node->name && pod.phase == "Running")
        for (const auto& [resource, count] : pod.gpus) asked[resource] += count;
    for (const auto& [resource, count] : asked)
      if (count > amount(node->allocatable, resource))
        out.fail(Severity::warning, "pods hold more GPUs than the node has left",
                 fmt::format("{}: {} {} in use, {} allocatable", node->name, count, resource,
                             amount(node->allocatable, resource)),
                 "gpuadm doctor --stage node --only gpu. on " + node->name);
  }
}

void no_runtime_class(const Whole& w, Verdicts& out) {
  if (gpu_nodes(w, out).empty()) return;
  const auto* pods = given(w.facts.pods, out, "the pods");
  if (!pods) return;
  std::vector<std::string> found;
  int judged = 0;
  for (const facts::Pod& pod : *pods) {
    const facts::Facts* host = pod.gpus.empty() ? nullptr : host_of(w, pod.node);
    if (!host || !host->runtime.containerd) continue;
    ++judged;
    const bool given_anyway = host->runtime.containerd->default_runtime == "nvidia" ||
                              host->runtime.containerd->enable_cdi.value_or(false);
    if (pod.runtime_class.empty() && !given_anyway) found.push_back(pod.full());
  }
  if (!found.empty())
    out.fail(Severity::warning, "pods with GPUs run without the nvidia runtime, and see no driver",
             some(found),
             "set runtimeClassName: nvidia in the pods, or make nvidia containerd's default runtime");
  else if (judged == 0)
    out.skip("no pod with a GPU runs on an examined host");
}

/// Pods of DaemonSets with this variable manage GPUs.
void env_bypass(const Whole& w, Verdicts& out) {
  const auto* pods = given(w.facts.pods, out, "the pods");
  if (!pods) return;
  std::vector<std::string> found;
  for (const facts::Pod& pod : *pods)
    if (pod.gpus.empty() && pod.owner != "DaemonSet" && !pod.visible_devices.empty() &&
        pod.visible_devices != "void" && pod.visible_devices != "none")
      found.push_back(fmt::format("{} ({})", pod.full(), pod.visible_devices));
  if (!found.empty())
    out.fail(Severity::warning, "pods use GPUs without requesting them", some(found),
             "remove NVIDIA_VISIBLE_DEVICES from the pods, request nvidia.com/gpu, and set "
             "accept-nvidia-visible-devices-envvar-when-unprivileged = false");
}

constexpr std::array cluster_gpu_pods_rows = std::to_array<Check>({
    {.id = "gk.runtimeclass",
     .title = "pods can use the nvidia runtime",
     .why = "they select it with RuntimeClass nvidia",
     .reads = "nodes pods runtimeclasses",
     .stages = in_cluster,
     .whole = runtime_class},
    {.id = "gk.allocated-overcommit",
     .title = "no pod holds a GPU that has failed",
     .why = "its programs hang or fail",
     .reads = "nodes pods",
     .stages = in_cluster,
     .whole = overcommit},
    {.id = "gk.pods-with-gpu-but-no-runtimeclass",
     .title = "pods with GPUs use the nvidia runtime",
     .why = "they find no driver otherwise",
     .reads = "nodes pods runtimeclasses",
     .stages = in_cluster,
     .whole = no_runtime_class},
    {.id = "gk.env-bypass",
     .title = "no pod uses GPUs without requesting them",
     .why = "otherwise two pods share a GPU unintentionally",
     .reads = "nodes pods",
     .stages = in_cluster,
     .whole = env_bypass},
});

}  // namespace

std::span<const Check> cluster_gpu_pods_checks() {
  return cluster_gpu_pods_rows;
}

}  // namespace checks
