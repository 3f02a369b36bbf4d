#include "gpuadm/workload/notebook.hpp"

#include "gpuadm/workload/objects.hpp"

#include <fmt/format.h>

namespace workload {

namespace {

using base::Tree;

constexpr const char* container = "notebook";
constexpr const char* token_key = "token";
/// The group of the user in the images of the catalog; files of a volume belong to it.
constexpr int group = 100;
constexpr int seconds_to_stop = 10;

std::string secret_name(const Notebook& notebook) {
  return notebook.name + "-token";
}

Tree labels(const Notebook& notebook) {
  Tree all = labels_of(notebook_kind, notebook.name);
  if (!notebook.instance.empty()) all.set(instance_label, notebook.instance);
  return all;
}

/// Without what changes when a notebook is created again: selectors cannot be changed.
Tree selector(const Notebook& notebook) {
  return Tree::map_of({{"matchLabels", labels_of(notebook_kind, notebook.name)}});
}

Tree metadata(const Notebook& notebook, const std::string& name) {
  return Tree::map_of({{"name", name}, {"namespace", notebook.ns}, {"labels", labels(notebook)}});
}

Tree object(const char* version, const char* kind, Tree metadata) {
  return Tree::map_of({{"apiVersion", version}, {"kind", kind}, {"metadata", std::move(metadata)}});
}

Tree list_of(Tree only) {
  return Tree(Tree::List{std::move(only)});
}

Tree volume_claim(const Notebook& notebook) {
  Tree claim = object("v1", "PersistentVolumeClaim", metadata(notebook, notebook.claim));
  Tree spec =
      Tree::map_of({{"accessModes", Tree::list_of({"ReadWriteOnce"})},
                    {"resources", Tree::map_of({{"requests", Tree::map_of({{"storage", notebook.size}})}})}});
  if (!notebook.storage_class.empty()) spec.set("storageClassName", notebook.storage_class);
  claim.set("spec", std::move(spec));
  return claim;
}

Tree token_secret(const Notebook& notebook, const base::Secret& token) {
  Tree secret = object("v1", "Secret", metadata(notebook, secret_name(notebook)));
  secret.set("type", "Opaque");
  secret.set("stringData", Tree::map_of({{token_key, token.reveal()}}));
  return secret;
}

Tree service(const Notebook& notebook) {
  Tree made = object("v1", "Service", metadata(notebook, notebook.name));
  Tree port =
      Tree::map_of({{"name", "http"}, {"port", int{notebook_port}}, {"targetPort", int{notebook_port}}});
  made.set("spec", Tree::map_of({{"type", notebook.reach == Reach::node_port ? "NodePort" : "ClusterIP"},
                                 {"selector", labels_of(notebook_kind, notebook.name)},
                                 {"ports", list_of(std::move(port))}}));
  return made;
}

/// Requests equal the limits, so that a node runs no more than it has.
Tree resources(const Notebook& notebook) {
  Tree amounts;
  if (!notebook.cpus.empty()) amounts.set("cpu", notebook.cpus);
  if (!notebook.memory.empty()) amounts.set("memory", notebook.memory);
  if (amounts.is_null()) return {};
  return Tree::map_of({{"requests", amounts}, {"limits", amounts}});
}

/// The path shows the version of the server, without a token (jupyter_server services/api/handlers.py). A
/// container that ends reports the last lines of its log.
Tree notebook_container(const Notebook& notebook) {
  Tree made = Tree::map_of({{"name", container}, {"image", notebook.image}});
  if (!notebook.command.empty()) made.set("args", literals(notebook.command));
  Tree token =
      Tree::map_of({{"secretKeyRef", Tree::map_of({{"name", secret_name(notebook)}, {"key", token_key}})}});
  made.set("env", list_of(Tree::map_of({{"name", "JUPYTER_TOKEN"}, {"valueFrom", std::move(token)}})));
  made.set("ports", list_of(Tree::map_of({{"name", "http"}, {"containerPort", int{notebook_port}}})));
  made.set("readinessProbe",
           Tree::map_of({{"httpGet", Tree::map_of({{"path", "/api"}, {"port", int{notebook_port}}})},
                         {"periodSeconds", 2},
                         {"timeoutSeconds", 5},
                         {"failureThreshold", 3}}));
  made.set("terminationMessagePolicy", "FallbackToLogsOnError");
  if (Tree amounts = resources(notebook); !amounts.is_null()) made.set("resources", std::move(amounts));
  Tree mounts = list_of(Tree::map_of({{"name", "shm"}, {"mountPath", "/dev/shm"}}));
  if (!notebook.claim.empty()) mounts.push(Tree::map_of({{"name", "files"}, {"mountPath", notebook.mount}}));
  made.set("volumeMounts", std::move(mounts));
  return made;
}

Tree pod_spec(const Notebook& notebook, const GpuParts& parts) {
  Tree volumes = list_of(Tree::map_of(
      {{"name", "shm"}, {"emptyDir", Tree::map_of({{"medium", "Memory"}, {"sizeLimit", notebook.shm}})}}));
  if (!notebook.claim.empty())
    volumes.push(Tree::map_of(
        {{"name", "files"}, {"persistentVolumeClaim", Tree::map_of({{"claimName", notebook.claim}})}}));
  Tree spec = Tree::map_of({{"automountServiceAccountToken", false},
                            {"enableServiceLinks", false},
                            {"terminationGracePeriodSeconds", seconds_to_stop}});
  if (!notebook.claim.empty()) spec.set("securityContext", Tree::map_of({{"fsGroup", group}}));
  spec.set("containers", list_of(notebook_container(notebook)));
  spec.set("volumes", std::move(volumes));
  if (notebook.gpus.any()) add_gpus(spec, parts);
  return spec;
}

/// One pod at a time: a new one waits until the GPUs and the volume of the old one are free.
Tree deployment(const Notebook& notebook, const GpuParts& parts) {
  Tree made = object("apps/v1", "Deployment", metadata(notebook, notebook.name));
  made["metadata"].set("annotations", Tree::map_of({{std::string(gpus_annotation), notebook.gpus_text}}));
  Tree pod = Tree::map_of(
      {{"metadata", Tree::map_of({{"labels", labels(notebook)}})}, {"spec", pod_spec(notebook, parts)}});
  made.set("spec", Tree::map_of({{"replicas", 1},
                                 {"revisionHistoryLimit", 1},
                                 {"strategy", Tree::map_of({{"type", "Recreate"}})},
                                 {"selector", selector(notebook)},
                                 {"template", std::move(pod)}}));
  return made;
}

}  // namespace

std::vector<Tree> objects_of(const Notebook& notebook, const GpuParts& parts, const base::Secret& token) {
  std::vector<Tree> objects;
  if (!notebook.size.empty()) objects.push_back(volume_claim(notebook));
  objects.push_back(token_secret(notebook, token));
  objects.push_back(service(notebook));
  if (parts.claim_template) {
    objects.push_back(*parts.claim_template);
    objects.back().set("metadata", metadata(notebook, notebook.name));
  }
  objects.push_back(deployment(notebook, parts));
  return objects;
}

std::vector<std::vector<std::string>> notebook_kinds(GpuClaims claims, OwnVolume volume) {
  std::vector<std::string> rest = {"pods", "services", "secrets"};
  if (claims == GpuClaims::yes) rest.emplace_back("resourceclaimtemplates.resource.k8s.io");
  if (volume == OwnVolume::deleted) rest.emplace_back("persistentvolumeclaims");
  return {{"deployments.apps"}, {"replicasets.apps"}, std::move(rest)};
}

}  // namespace workload
