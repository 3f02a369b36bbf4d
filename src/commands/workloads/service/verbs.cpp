#include "commands/workloads/service/verbs.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/notebook.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/inspect/explain_pod.hpp"
#include "commands/workloads/storage/claim_folders.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

Tree replicas(int count) {
  return Tree::map_of({{"spec", Tree::map_of({{"replicas", count}})}});
}

bool has_pods(const std::vector<Tree>& objects) {
  return object_of(objects, "Pod") != nullptr;
}

/// Until no pod is left: its GPUs are free then.
Result<> wait_stopped(ReachedCluster& cluster, const NamedService& options) {
  const base::Instant until = base::Clock::now() + session::end_of_pods;
  while (has_pods(
      TRY(cluster.client().get({.kinds = {"pods"}, .ns = options.ns, .selector = selector_of(options)})))) {
    if (base::Clock::now() >= until)
      return base::fail(
          Fault::timeout,
          fmt::format("the pod of the {} did not end within {}", with_noun(options),
                      base::human_seconds(static_cast<double>(session::end_of_pods.count()))),
          fmt::format("kubectl -n {} describe pods -l gpuadm.io/name={}", options.ns, options.name));
    TRY(cluster.pause(std::chrono::milliseconds(500)));
  }
  return {};
}

std::string annotation(const Tree& deployment, std::string_view name) {
  const Tree* annotations = deployment.at({"metadata", "annotations"});
  const Tree* found = annotations ? annotations->find(name) : nullptr;
  return found ? found->text() : "";
}

/// Pods of one that is started: as when it was created.
int pods_of(const Tree& deployment) {
  const auto count = base::to_int(annotation(deployment, workload::replicas_annotation)).value_or(1);
  return static_cast<int>(std::clamp(count, 1LL, 1000LL));
}

/// Starts it. Why it was stopped does not matter any more.
Tree started(const Tree& deployment) {
  Tree patch = replicas(pods_of(deployment));
  if (!annotation(deployment, workload::stopped_annotation).empty())
    patch.set(
        "metadata",
        Tree::map_of({{"annotations", Tree::map_of({{std::string(workload::stopped_annotation), Tree()}})}}));
  return patch;
}

/// Whether its GPUs are free, as when it was created.
Result<> check_gpus(ReachedCluster& cluster, const Tree& deployment) {
  const std::string gpus = annotation(deployment, workload::gpus_annotation);
  if (gpus.empty()) return {};
  const auto request = TRY(workload::parse_gpus("annotation gpuadm.io/gpus", gpus));
  if (!request.any()) return {};
  const auto supply = TRY(workload::supply_of(TRY(cluster.client().read_nodes_and_pods())));
  return workload::check_fit(supply, request, pods_of(deployment), workload::Placement::anywhere);
}

AwaitedPod awaited(const NamedService& options) {
  return {options.ns, options.name, selector_of(options)};
}

/// The error of wait_ready. A pod that is kept can be inspected.
enum class Kept { yes, no };
base::Error not_ready(const NamedService& options, base::Error error, Kept pod) {
  if (error.fault == Fault::interrupted) return error;
  error.what = fmt::format("the {} does not become ready: {}", with_noun(options), error.what);
  if (pod == Kept::yes)
    error.hint = with_details(
        error.hint, explain_command({options.ns, options.name}, options.hosts, options.common.connection));
  return error;
}

}  // namespace

Result<const Tree*> deployment_of(const std::vector<Tree>& objects, const NamedService& options) {
  if (const Tree* deployment = object_of(objects, "Deployment")) return deployment;
  return base::fail(Fault::usage,
                    fmt::format("the {} was deleted; only its volume exists", with_noun(options)),
                    fmt::format("to use the volume again: {}", command_for("create", options)));
}

bool is_stopped(const Tree& deployment) {
  const Tree* replicas = deployment.at({"spec", "replicas"});
  return replicas && replicas->as_int() == 0;
}

std::vector<std::string> pod_names(const std::vector<Tree>& objects) {
  std::vector<std::string> names;
  for (const Tree& object : objects)
    if (text_of(object, "kind") == "Pod") names.push_back(text_at(object, {"metadata", "name"}));
  return names;
}

Result<Outcome> stop_service(const NamedService& service, std::string (*kept)(const ServiceVolumes&),
                             Io& io) {
  const auto cluster = TRY(reach_service(service, session::Access::full, io));
  const auto objects = TRY(find_service(*cluster, service));
  const Tree* deployment = TRY(deployment_of(objects, service));
  if (!is_stopped(*deployment))
    TRY(cluster->client().patch(service.ns, "deployment/" + service.name, replicas(0)));
  TRY(wait_stopped(*cluster, service));
  io.out(fmt::format("the {} is stopped; {}\n", with_noun(service), kept(service_volumes(objects))));
  return Outcome::done;
}

Result<std::string> await_service(const NamedService& service, std::chrono::seconds timeout,
                                  ReachedCluster& cluster, Io& io) {
  const auto objects = TRY(find_service(cluster, service));
  if (is_stopped(*TRY(deployment_of(objects, service))))
    return base::fail(Fault::blocked, fmt::format("the {} is stopped", with_noun(service)),
                      command_for("start", service));
  AwaitedPod pod = awaited(service);
  pod.pods = AwaitedPods::one;
  auto node = wait_ready(cluster, pod, timeout, io);
  if (!node) return std::unexpected(not_ready(service, node.error(), Kept::yes));
  return node;
}

Result<std::string> start_service(const NamedService& service, std::chrono::seconds timeout,
                                  ReachedCluster& cluster, Io& io) {
  const auto objects = TRY(find_service(cluster, service));
  const Tree* deployment = TRY(deployment_of(objects, service));
  const std::string object = "deployment/" + service.name;
  const bool stopped = is_stopped(*deployment);
  if (stopped) {
    TRY(wait_stopped(cluster, service));
    TRY(check_gpus(cluster, *deployment));
    if (const Tree* pod = deployment->at({"spec", "template", "spec"}))
      TRY(check_claims_of_pod(claims_of_pod(*pod), service.ns, service.hosts, cluster.spec(),
                              cluster.client(), io));
    TRY(cluster.client().patch(service.ns, object, started(*deployment)));
  }
  auto node = wait_ready(cluster, awaited(service), timeout, io);
  if (node) return node;
  if (stopped) {
    const auto again = cluster.client().patch(service.ns, object, replicas(0), transport::Purpose::clean_up);
    io.err(again ? fmt::format("{} is stopped again\n", shown(service))
                 : fmt::format("cannot stop it again: {}\n", base::printable(again.error().what)));
  }
  return std::unexpected(not_ready(service, node.error(), stopped ? Kept::no : Kept::yes));
}

}  // namespace commands
