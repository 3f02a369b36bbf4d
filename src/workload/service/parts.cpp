#include "workload/service/parts.hpp"

namespace workload::service {

using base::Tree;

Tree list_of(Tree only) {
  return Tree(Tree::List{std::move(only)});
}

Tree labels(const ServicePod& pod) {
  Tree all = labels_of(pod.kind, pod.name);
  if (!pod.instance.empty()) all.set(instance_label, pod.instance);
  return all;
}

Tree metadata(const ServicePod& pod, const std::string& name) {
  return Tree::map_of({{"name", name}, {"namespace", pod.ns}, {"labels", labels(pod)}});
}

Tree object(const char* version, const char* kind, Tree metadata) {
  return Tree::map_of({{"apiVersion", version}, {"kind", kind}, {"metadata", std::move(metadata)}});
}

Tree volume_claim(const ServicePod& pod) {
  Tree claim = object("v1", "PersistentVolumeClaim", metadata(pod, pod.claim));
  Tree spec =
      Tree::map_of({{"accessModes", Tree::list_of({"ReadWriteOnce"})},
                    {"resources", Tree::map_of({{"requests", Tree::map_of({{"storage", pod.size}})}})}});
  if (!pod.storage_class.empty()) spec.set("storageClassName", pod.storage_class);
  claim.set("spec", std::move(spec));
  return claim;
}

Tree secret(const ServicePod& pod, const std::string& name, const Texts& values) {
  Tree made = object("v1", "Secret", metadata(pod, name));
  made.set("type", "Opaque");
  Tree data = Tree::map();
  for (const auto& [key, value] : values) data.set(key, value);
  made.set("stringData", std::move(data));
  return made;
}

Tree variable_from_secret(const std::string& variable, const std::string& secret, const std::string& key) {
  Tree reference = Tree::map_of({{"secretKeyRef", Tree::map_of({{"name", secret}, {"key", key}})}});
  return Tree::map_of({{"name", variable}, {"valueFrom", std::move(reference)}});
}

Tree web_service(const ServicePod& pod, std::uint16_t port) {
  Tree made = object("v1", "Service", metadata(pod, pod.name));
  Tree ports = Tree::map_of({{"name", "http"}, {"port", int{port}}, {"targetPort", int{port}}});
  made.set("spec", Tree::map_of({{"type", pod.reach == Reach::node_port ? "NodePort" : "ClusterIP"},
                                 {"selector", labels_of(pod.kind, pod.name)},
                                 {"ports", list_of(std::move(ports))}}));
  return made;
}

Tree gpu_claim_template(const ServicePod& pod, const GpuParts& parts) {
  Tree made = *parts.claim_template;
  made.set("metadata", metadata(pod, pod.name));
  return made;
}

Tree resources(const ServicePod& pod) {
  Tree amounts;
  if (!pod.cpus.empty()) amounts.set("cpu", pod.cpus);
  if (!pod.memory.empty()) amounts.set("memory", pod.memory);
  if (amounts.is_null()) return {};
  return Tree::map_of({{"requests", amounts}, {"limits", amounts}});
}

Tree shm_volume(const ServicePod& pod) {
  return Tree::map_of(
      {{"name", "shm"}, {"emptyDir", Tree::map_of({{"medium", "Memory"}, {"sizeLimit", pod.shm}})}});
}

Tree mount(const std::string& volume, const std::string& directory) {
  return Tree::map_of({{"name", volume}, {"mountPath", directory}});
}

Tree claim_volume(const std::string& volume, const std::string& claim) {
  return Tree::map_of({{"name", volume}, {"persistentVolumeClaim", Tree::map_of({{"claimName", claim}})}});
}

Tree selector(const ServicePod& pod) {
  return Tree::map_of({{"matchLabels", labels_of(pod.kind, pod.name)}});
}

}  // namespace workload::service
