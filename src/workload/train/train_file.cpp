#include "gpuadm/base/text.hpp"

#include "workload/train/train_names.hpp"
#include "workload/train/train_pod.hpp"
#include "workload/train/train_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace workload {

namespace {

using base::Tree;

/// Kinds of v1 that are created with a job.
constexpr std::array companion_kinds = {"ConfigMap", "Secret", "Service", "PersistentVolumeClaim"};
constexpr std::array runtime_kinds = {"ClusterTrainingRuntime", "TrainingRuntime"};

/// Fields that the API server sets (kubernetes/apimachinery: ObjectMeta).
constexpr std::array server_fields = {
    "uid",           "resourceVersion", "generation",       "selfLink", "creationTimestamp",
    "managedFields", "ownerReferences", "deletionTimestamp"};
/// Labels that the Job controller sets.
constexpr std::array controller_labels = {"controller-uid", "job-name", "batch.kubernetes.io/controller-uid",
                                          "batch.kubernetes.io/job-name"};

void erase_all(Tree* map, const auto& keys) {
  if (map)
    for (const auto& key : keys) map->erase(key);
}

Tree* find_at(Tree& tree, std::initializer_list<std::string_view> path) {
  Tree* found = &tree;
  for (const std::string_view key : path) {
    found = found->find(key);
    if (!found) return nullptr;
  }
  return found;
}

/// Annotations by which the controllers of volumes know a claim that is bound: without its volume it would be
/// Lost.
void erase_bindings(Tree& annotations) {
  std::vector<std::string> names;
  for (const auto& [name, value] : annotations.entries())
    if (name.starts_with("pv.kubernetes.io/") || name.starts_with("volume.kubernetes.io/") ||
        name.starts_with("volume.beta.kubernetes.io/"))
      names.push_back(name);
  erase_all(&annotations, names);
}

/// An object as `kubectl get` prints it has fields that nobody has written.
Tree as_written(Tree object) {
  Tree* metadata = object.find("metadata");
  const bool is_live = metadata && metadata->find("uid");
  erase_all(metadata, server_fields);
  if (Tree* annotations = metadata ? metadata->find("annotations") : nullptr) {
    erase_all(annotations, std::array{"kubectl.kubernetes.io/last-applied-configuration",
                                      "batch.kubernetes.io/job-tracking"});
    if (is_live) erase_bindings(*annotations);
    if (annotations->entries().empty()) metadata->erase("annotations");
  }
  if (!is_live) return object;
  object.erase("status");
  const std::string kind = text_of(object, "kind");
  if (kind == "Job") {
    erase_all(object.find("spec"), std::array{"selector", "manualSelector"});
    erase_all(find_at(object, {"metadata", "labels"}), controller_labels);
    erase_all(find_at(object, {"spec", "template", "metadata", "labels"}), controller_labels);
  }
  if (kind == "Service" && text_at(object, {"spec", "clusterIP"}) != "None")
    erase_all(object.find("spec"), std::array{"clusterIPs", "clusterIP"});
  if (kind == "PersistentVolumeClaim") erase_all(object.find("spec"), std::array{"volumeName"});
  return object;
}

bool is_of(const auto& kinds, const Tree& document) {
  return std::ranges::find(kinds, text_of(document, "kind")) != kinds.end();
}

/// "Deployment web"
std::string described(const Tree& document) {
  const std::string kind = text_of(document, "kind"), name = text_at(document, {"metadata", "name"});
  return fmt::format("{}{}{}", kind.empty() ? "an object without a kind" : base::printable(kind, 60),
                     name.empty() ? "" : " ", base::printable(name, 80));
}

}  // namespace

std::vector<Tree> written_documents(const std::vector<Tree>& documents) {
  std::vector<Tree> written;
  for (const Tree& document : documents) {
    const Tree* items = document.find("items");
    if (items && text_of(document, "kind").ends_with("List"))
      for (Tree& one : written_documents(items->items())) written.push_back(std::move(one));
    else if (!document.is_null())
      written.push_back(as_written(document));
  }
  return written;
}

TrainFile sort_documents(const std::vector<Tree>& documents, std::string_view source, TrainImport& import) {
  TrainFile file;
  for (const Tree& document : documents) {
    TrainFields fields(document, described(document), source, import);
    if (is_train_manifest(document)) {
      if (file.job)
        fields.problem("a second training job; gpuadm train run starts one: put it into a file of its own");
      else
        file.job = &document;
    } else if (is_of(runtime_kinds, document)) {
      file.runtimes.emplace(text_at(document, {"metadata", "name"}), &document);
    } else if (is_of(companion_kinds, document) && text_of(document, "apiVersion") == "v1") {
      file.companions.push_back(document);
    } else {
      fields.problem(
          "gpuadm creates only ConfigMaps, Secrets, Services and PersistentVolumeClaims with a job: create "
          "it "
          "with kubectl, and remove it from the file");
    }
  }
  return file;
}

void check_companions(const TrainJob& job, std::string_view source, TrainImport& import) {
  std::vector<std::pair<std::string, std::string>> taken = {{"Secret", keys_name(job)},
                                                            {"ConfigMap", source_name(job)}};
  for (const TrainService& service : services_of(job)) taken.emplace_back("Service", service.name);
  for (const Tree& one : job.companions) {
    const std::string kind = text_of(one, "kind"), name = text_at(one, {"metadata", "name"}),
                      ns = text_at(one, {"metadata", "namespace"});
    TrainFields fields(one, described(one), source, import);
    if (name.empty()) fields.problem("it has no name");
    if (!ns.empty() && ns != job.ns)
      fields.problem(
          fmt::format("it is in the namespace {}, and the job in {}", base::printable(ns, 63), job.ns));
    if (std::ranges::find(taken, std::pair(kind, name)) != taken.end())
      fields.problem("gpuadm creates an object with this name for the job: use another name");
    taken.emplace_back(kind, name);
  }
}

}  // namespace workload
