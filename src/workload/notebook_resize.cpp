#include "gpuadm/workload/notebook.hpp"
#include "gpuadm/workload/objects.hpp"

#include <fmt/format.h>

namespace workload {

namespace {

using base::Tree;

constexpr std::string_view shm_name = "shm";

std::string text_in(const Tree& tree, std::initializer_list<std::string_view> path) {
  const Tree* found = tree.at(path);
  return found ? found->text() : "";
}

/// The entry of a list with this name; nullptr: there is none.
const Tree* named(const Tree* list, std::string_view name) {
  if (!list) return nullptr;
  for (const Tree& entry : list->items())
    if (text_of(entry, "name") == name) return &entry;
  return nullptr;
}

/// Of a Deployment that a webhook or a person has given more containers, the notebook's.
const Tree* container_of(const Tree& pod_spec) {
  const Tree* containers = pod_spec.find("containers");
  if (!containers || containers->items().empty()) return nullptr;
  const Tree* found = named(containers, notebook_container);
  return found ? found : &containers->items().front();
}

/// GPUs of every form have names of nvidia.com.
bool is_gpus(std::string_view name) {
  return name.starts_with("nvidia.com/");
}

/// Processors, memory and, if they change, GPUs as `made` has them. What a person has added, such as
/// ephemeral storage, stays.
Tree resized_amounts(const Tree* live, const Tree* made, bool other_gpus) {
  const auto is_replaced = [&](std::string_view name) {
    return name == "cpu" || name == "memory" || (other_gpus && is_gpus(name));
  };
  Tree all = live ? *live : Tree::map();
  for (const char* group : {"limits", "requests"}) {
    Tree amounts = Tree::map();
    if (const Tree* earlier = all.find(group))
      for (const auto& [name, value] : earlier->entries())
        if (!is_replaced(name)) amounts.set(name, value);
    if (const Tree* wanted = made ? made->find(group) : nullptr)
      for (const auto& [name, value] : wanted->entries())
        if (is_replaced(name)) amounts.set(name, value);
    if (!amounts.entries().empty() || all.find(group)) all.set(group, std::move(amounts));
  }
  return all;
}

}  // namespace

NotebookRequest request_of(const Tree& deployment) {
  NotebookRequest request;
  request.name = text_in(deployment, {"metadata", "name"});
  request.ns = text_in(deployment, {"metadata", "namespace"});
  if (const std::string gpus = text_in(deployment, {"metadata", "annotations", gpus_annotation});
      !gpus.empty())
    request.gpus = gpus;
  request.stop_idle = text_in(deployment, {"metadata", "annotations", stop_idle_annotation});
  const Tree* spec = deployment.at({"spec", "template", "spec"});
  const Tree* container = spec ? container_of(*spec) : nullptr;
  if (!container) return request;
  request.image = text_of(*container, "image");
  request.cpus = text_in(*container, {"resources", "limits", "cpu"});
  request.memory = text_in(*container, {"resources", "limits", "memory"});
  const Tree* mounts = container->find("volumeMounts");
  if (const Tree* volumes = spec->find("volumes"))
    for (const Tree& volume : volumes->items()) {
      const std::string name = text_of(volume, "name");
      if (name == shm_name) request.shm = text_in(volume, {"emptyDir", "sizeLimit"});
      const Tree* claim = volume.at({"persistentVolumeClaim", "claimName"});
      const Tree* mount = named(mounts, name);
      if (!claim || !mount || !request.storage.empty()) continue;
      request.storage = claim->text();
      request.mount = text_of(*mount, "mountPath");
    }
  return request;
}

Tree resized(const Tree& live, const Tree& made) {
  Tree changed = live;
  const std::string gpus = text_in(made, {"metadata", "annotations", gpus_annotation});
  const bool other_gpus = gpus != text_in(live, {"metadata", "annotations", gpus_annotation});
  changed["metadata"]["annotations"].set(std::string(gpus_annotation), gpus);
  Tree& spec = changed["spec"]["template"]["spec"];
  const Tree* wanted = made.at({"spec", "template", "spec"});
  const Tree* container = container_of(spec);
  const Tree* wanted_container = wanted ? container_of(*wanted) : nullptr;
  if (!container || !wanted_container) return changed;
  const std::string name = text_of(*container, "name");
  for (Tree& one : spec["containers"].items())
    if (text_of(one, "name") == name)
      one.set("resources",
              resized_amounts(one.find("resources"), wanted_container->find("resources"), other_gpus));
  const Tree* shm = named(wanted->find("volumes"), shm_name);
  if (Tree* volumes = spec.find("volumes"); volumes && shm)
    for (Tree& volume : volumes->items())
      if (text_of(volume, "name") == shm_name) volume = *shm;
  if (!other_gpus) return changed;
  // Where GPUs of another form are: these nodes, and this way into the container.
  for (const char* key : {"runtimeClassName", "nodeSelector", "affinity"}) {
    if (const Tree* value = wanted->find(key))
      spec.set(key, *value);
    else
      spec.erase(key);
  }
  return changed;
}

}  // namespace workload
