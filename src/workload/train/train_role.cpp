#include "gpuadm/base/text.hpp"

#include "workload/train/train_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

/// Roles of a manifest: their pods, without what gpuadm adds to them.
namespace workload {

namespace {

using base::Tree;

GpuRequest request_of(std::string_view resource, int count) {
  if (count == 0) return {};
  if (std::string profile = mig_profile_of(resource); !profile.empty())
    return {GpuRequest::Form::mig, count, 1, std::move(profile)};
  return {GpuRequest::Form::whole, count, 1, {}};
}

/// Removes GPUs from the limits and requests of a container: gpuadm adds them as the cluster allocates them.
GpuRequest take_gpus(Tree& container, TrainFields& fields) {
  GpuRequest request;
  std::string first;  // the field with the request
  for (const char* part : {"requests", "limits"}) {
    Tree* resources = container.find("resources");
    Tree* map = resources ? resources->find(part) : nullptr;
    if (!map) continue;
    std::vector<std::string> names;
    for (const auto& [name, count] : map->entries())
      if (is_gpu_resource(name)) names.push_back(name);
    for (const std::string& name : names) {
      const Tree value = *map->find(name);
      map->erase(name);
      const std::string path = fmt::format("containers[0].resources.{}.{}", part, name);
      const auto count = base::to_int(value.text());
      if (!count || *count < 0 || *count > most_gpus) {
        fields.problem(value, path, fmt::format("not a number of GPUs from 0 to {}", most_gpus));
        continue;
      }
      const GpuRequest one = request_of(name, static_cast<int>(*count));
      if (one.any() && request.any() && describe(one) != describe(request))
        fields.problem(value, path, "differs from " + first);
      if (!one.any() || request.any()) continue;
      request = one;
      first = path;
    }
  }
  return request;
}

/// GPUs and other accelerators that are not NVIDIA's, as device plugins name them.
bool is_other_accelerator(std::string_view resource) {
  constexpr std::array<std::string_view, 9> prefixes = {
      "amd.com/",       "habana.ai/",    "google.com/tpu", "aws.amazon.com/neuron", "huawei.com/",
      "cambricon.com/", "intel.com/gpu", "mthreads.com/",  "metax-tech.com/"};
  return std::ranges::any_of(prefixes, [&](auto prefix) { return resource.starts_with(prefix); }) ||
         (resource.contains('/') && base::lower(resource).contains("gpu"));
}

void note_other_gpus(const Tree& container, TrainFields& spec) {
  for (const char* part : {"limits", "requests"})
    if (const Tree* resources = container.at({"resources", part}))
      for (const auto& [name, count] : resources->entries())
        if (is_other_accelerator(name))
          return spec.remark(count,
                             fmt::format("containers[0].resources.{}.{}", part, base::printable(name, 80)),
                             "no NVIDIA GPU is requested: gpuadm does not count this resource, and torchrun "
                             "starts one process unless a number is specified");
}

bool is_sidecar(const Tree& container) {
  return text_of(container, "restartPolicy") == "Always";
}

/// A rank ends when the container that trains ends. The kubelet ends others with it if they are init
/// containers that are always restarted
/// (https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers).
void separate_sidecars(Tree& pod, std::string_view trains, TrainFields& spec, TrainJob& job) {
  if (const Tree* first = pod.find("initContainers"))
    for (const Tree& one : first->items())
      if (is_sidecar(one)) job.sidecars.push_back(text_of(one, "name"));
  Tree::List& all = pod["containers"].items();
  auto found = std::ranges::find_if(all, [&](const Tree& one) { return text_of(one, "name") == trains; });
  if (found == all.end()) found = all.begin();
  const Tree main = *found;
  all.erase(found);
  if (!all.empty()) {
    std::vector<std::string> names;
    for (Tree& one : all) {
      names.push_back(base::printable(text_of(one, "name"), 80));
      one.set("restartPolicy", "Always");
      job.sidecars.push_back(text_of(one, "name"));
      pod["initContainers"].push(one);
    }
    spec.note("containers", fmt::format("{} run{} next to {} until it ends, which needs Kubernetes 1.29",
                                        base::join(names, ", "), names.size() == 1 ? "s" : "",
                                        base::printable(text_of(main, "name"), 80)));
  }
  pod.set("containers", Tree(Tree::List{main}));
}

/// Fields of PodSpec and Container in Kubernetes 1.36 (k8s.io/api/core/v1). A newer Kubernetes may have more,
/// so that only a name that is nearly one of these is a mistake.
constexpr std::array<std::string_view, 43> pod_fields = {"volumes",
                                                         "initContainers",
                                                         "containers",
                                                         "ephemeralContainers",
                                                         "restartPolicy",
                                                         "terminationGracePeriodSeconds",
                                                         "activeDeadlineSeconds",
                                                         "dnsPolicy",
                                                         "nodeSelector",
                                                         "serviceAccountName",
                                                         "serviceAccount",
                                                         "automountServiceAccountToken",
                                                         "nodeName",
                                                         "hostNetwork",
                                                         "hostPID",
                                                         "hostIPC",
                                                         "shareProcessNamespace",
                                                         "securityContext",
                                                         "imagePullSecrets",
                                                         "hostname",
                                                         "subdomain",
                                                         "affinity",
                                                         "schedulerName",
                                                         "tolerations",
                                                         "hostAliases",
                                                         "priorityClassName",
                                                         "priority",
                                                         "dnsConfig",
                                                         "readinessGates",
                                                         "runtimeClassName",
                                                         "enableServiceLinks",
                                                         "preemptionPolicy",
                                                         "overhead",
                                                         "topologySpreadConstraints",
                                                         "setHostnameAsFQDN",
                                                         "os",
                                                         "hostUsers",
                                                         "schedulingGates",
                                                         "resourceClaims",
                                                         "resources",
                                                         "hostnameOverride",
                                                         "schedulingGroup",
                                                         "workloadRef"};
constexpr std::array<std::string_view, 25> container_fields = {"name",
                                                               "image",
                                                               "command",
                                                               "args",
                                                               "workingDir",
                                                               "ports",
                                                               "envFrom",
                                                               "env",
                                                               "resources",
                                                               "resizePolicy",
                                                               "restartPolicy",
                                                               "restartPolicyRules",
                                                               "volumeMounts",
                                                               "volumeDevices",
                                                               "livenessProbe",
                                                               "readinessProbe",
                                                               "startupProbe",
                                                               "lifecycle",
                                                               "terminationMessagePath",
                                                               "terminationMessagePolicy",
                                                               "imagePullPolicy",
                                                               "securityContext",
                                                               "stdin",
                                                               "stdinOnce",
                                                               "tty"};

void check_names(const Tree& map, const std::string& path, std::span<const std::string_view> known,
                 TrainFields& spec) {
  std::vector<std::string> candidates(known.begin(), known.end());
  for (const auto& [key, value] : map.entries()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const std::string place = path + base::printable(key, 80);
    if (const auto near = base::nearest(key, candidates))
      spec.problem(value, place, fmt::format("unknown field: did you mean {}?", *near));
    else
      spec.remark(value, place, "not a field of Kubernetes 1.36: older versions ignore or refuse it");
  }
}

/// Mistyped fields: they would be ignored, and the pod would be another one. `pod`: before gpuadm changes it.
void check_pod_fields(const Tree& pod, TrainFields& spec) {
  check_names(pod, "", pod_fields, spec);
  for (const char* list : {"initContainers", "containers"})
    if (const Tree* all = pod.find(list); all && all->is_list())
      for (std::size_t i = 0; i < all->items().size(); ++i)
        if (all->items()[i].is_map())
          check_names(all->items()[i], fmt::format("{}[{}].", list, i), container_fields, spec);
}

}  // namespace

Role role_from(TrainFields fields, const RoleOptions& options, TrainJob& job) {
  Role role{.name = options.name, .replicas = static_cast<int>(options.replicas)};
  TrainFields metadata = fields.below("metadata");
  if (const Tree* labels = metadata.use("labels")) role.labels = *labels;
  if (const Tree* annotations = metadata.use("annotations")) role.annotations = *annotations;
  metadata.note("name", "pods are named after the job");
  metadata.note("namespace", "pods are in the namespace of the job");
  (void)metadata.use("creationTimestamp");
  metadata.end();
  TrainFields spec = fields.below("spec");
  fields.end();
  (void)spec.use("restartPolicy");
  // The cluster may not have that scheduler, and then no pod would ever get a node; gpuadm itself sees to it
  // that all ranks start or none.
  if (spec.text("schedulerName", "default-scheduler") != "default-scheduler")
    spec.note("schedulerName", "not used: the default scheduler places the ranks; gpuadm starts all or none");
  const Tree* containers = spec.use("containers");
  if (!containers || containers->items().empty()) {
    spec.problem("no containers");
    return role;
  }
  check_pod_fields(spec.map(), spec);
  role.pod = spec.map();
  role.pod.erase("restartPolicy");
  role.pod.erase("schedulerName");
  separate_sidecars(role.pod, options.container, spec, job);
  Tree& container = role.pod["containers"].items().front();
  if (!options.image.empty()) container.set("image", options.image);
  if (const Tree* image = container.find("image"); image && image->text().empty())
    spec.problem(*image, "containers[0].image", "empty; specify an image, or --image");
  else if (!image)
    spec.refuse("containers", "the container has no image; specify one with --image");
  role.gpus = take_gpus(container, spec);
  if (!role.gpus.any()) note_other_gpus(container, spec);
  if (!role.gpus.any() && role.pod.find("resourceClaims"))
    spec.note(
        "resourceClaims",
        "gpuadm does not count the GPUs of claims: torchrun starts one process unless a number is specified");
  return role;
}

void merge_equal_roles(TrainJob& job) {
  if (job.roles.size() < 2) return;
  const Role& first = job.roles.front();
  for (const Role& role : job.roles)
    if (!(role.pod == first.pod) || !(role.labels == first.labels) ||
        !(role.annotations == first.annotations) || role.gpus.form != first.gpus.form ||
        role.gpus.count != first.gpus.count || role.gpus.profile != first.gpus.profile)
      return;
  Role merged = first;
  merged.name = "worker";
  merged.replicas = job.ranks();
  job.roles = {merged};
}

Tree* main_container(Role& role) {
  Tree* containers = role.pod.find("containers");
  return !containers || containers->items().empty() ? nullptr : &containers->items().front();
}

void add_variable(TrainJob& job, const std::string& name, const std::string& value) {
  for (Role& role : job.roles) {
    Tree* container = main_container(role);
    if (!container) continue;
    const Tree* list = container->find("env");
    const bool has = list && std::ranges::any_of(list->items(), [&](const Tree& one) {
                       return text_of(one, "name") == name;
                     });
    if (!has) (*container)["env"].push(Tree::map_of({{"name", name}, {"value", value}}));
  }
}

}  // namespace workload
