#include "gpuadm/workload/service_pod.hpp"

namespace workload {

using base::Tree;

Tree replacement_of(const Tree& live, Tree made) {
  // The API server refuses it if another user has changed the live one since it was read.
  made["metadata"].set("resourceVersion", text_at(live, {"metadata", "resourceVersion"}));
  constexpr std::string_view revision = "deployment.kubernetes.io/revision";
  if (const Tree* annotations = live.at({"metadata", "annotations"}))
    if (const Tree* number = annotations->find(revision))
      made["metadata"]["annotations"].set(std::string(revision), *number);
  return made;
}

Tree restored(const Tree& live) {
  Tree metadata = Tree::map();
  for (const char* name : {"name", "namespace", "labels", "annotations"})
    if (const Tree* found = live.at({"metadata", name})) metadata.set(name, *found);
  Tree object = Tree::map();
  for (const auto& [name, value] : live.entries())
    if (name != "status") object.set(name, name == "metadata" ? metadata : value);
  return object;
}

}  // namespace workload
