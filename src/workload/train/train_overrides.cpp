#include "gpuadm/base/text.hpp"

#include "workload/train/train_readers.hpp"

#include <fmt/format.h>

#include <algorithm>

/// What a TrainJob changes in the pods of its runtime: podSpecOverrides (v2.0 of Kubeflow Trainer),
/// podTemplateOverrides (v2.1), runtimePatches (from v2.2; pkg/apis/trainer/v1alpha1/trainjob_types.go).
namespace workload {

namespace {

using base::Tree;

/// A change of the pods of some jobs.
struct Override {
  std::string key;                   ///< the field of the TrainJob
  const Tree* at;                    ///< in the manifest
  std::vector<std::string> targets;  ///< jobs of the runtime; empty: all
  Tree metadata, spec;               ///< of the pods
};

Tree map_at(const Tree& tree, std::string_view key) {
  const Tree* found = tree.find(key);
  return found && found->is_map() ? *found : Tree::map();
}

Override read_override(const char* key, const Tree& one) {
  Override change{key, &one, {}, map_at(one, "metadata"), map_at(one, "spec")};
  if (const Tree* targets = one.find("targetJobs"))
    for (const Tree& target : targets->items()) change.targets.push_back(text_of(target, "name"));
  if (one.find("spec")) return change;
  // The fields of podSpecOverrides are those of the pod.
  change.spec = one;
  for (const char* other : {"targetJobs", "metadata"}) change.spec.erase(other);
  return change;
}

std::vector<Override> overrides_in(TrainFields& spec) {
  std::vector<Override> all;
  for (const char* key : {"podSpecOverrides", "podTemplateOverrides"})
    if (const Tree* list = spec.use(key))
      for (const Tree& one : list->items()) all.push_back(read_override(key, one));
  if (const Tree* patches = spec.use("runtimePatches"))
    for (const Tree& patch : patches->items())
      if (const Tree* jobs = patch.at({"trainingRuntimeSpec", "template", "spec", "replicatedJobs"}))
        for (const Tree& job : jobs->items())
          if (const Tree* pod = job.at({"template", "spec", "template"}))
            all.push_back({"runtimePatches",
                           &job,
                           {text_of(job, "name")},
                           map_at(*pod, "metadata"),
                           map_at(*pod, "spec")});
  return all;
}

bool is_for(const Override& change, std::string_view target) {
  return change.targets.empty() || std::ranges::find(change.targets, target) != change.targets.end();
}

/// The key of an item in a list of a pod (patchMergeKey in kubernetes/api/core/v1/types.go); empty: none.
std::string key_in_list(const Tree& item) {
  const std::string path = text_of(item, "mountPath");
  return path.empty() ? text_of(item, "name") : path;
}

void merge_patch(Tree& into, const Tree& patch) {
  for (const auto& [key, value] : patch.entries()) {
    Tree* present = into.find(key);
    if (present && present->is_map() && value.is_map()) {
      merge_patch(*present, value);
    } else if (present && present->is_list() && value.is_list()) {
      for (const Tree& item : value.items()) {
        const std::string name = key_in_list(item);
        const auto same = std::ranges::find_if(
            present->items(), [&](const Tree& other) { return !name.empty() && key_in_list(other) == name; });
        if (same == present->items().end())
          present->push(item);
        else
          merge_patch(*same, item);
      }
    } else {
      into.set(key, value);
    }
  }
}

/// Only the runtime has containers, with their images. Others are a problem.
bool has_containers(const Override& change, const Tree& pod, TrainFields& spec) {
  bool has_all = true;
  for (const char* key : {"containers", "initContainers"}) {
    const Tree *wanted = change.spec.find(key), *present = pod.at({"spec", key});
    if (!wanted) continue;
    for (const Tree& one : wanted->items()) {
      const std::string name = text_of(one, "name");
      if (present && std::ranges::any_of(present->items(),
                                         [&](const Tree& other) { return text_of(other, "name") == name; }))
        continue;
      has_all = false;
      spec.problem(
          one, fmt::format("{}.{}.{}", change.key, key, base::printable(name, 60)),
          "the pods of the runtime have no such container, as far as gpuadm knows it: add the runtime "
          "to the file, separated by ---");
    }
  }
  return has_all;
}

}  // namespace

Tree with_overrides(TrainFields& spec, std::string_view target, Tree pod) {
  for (const Override& change : overrides_in(spec)) {
    if (is_for(change, target) && has_containers(change, pod, spec))
      merge_patch(pod, Tree::map_of({{"metadata", change.metadata}, {"spec", change.spec}}));
  }
  return pod;
}

void check_overrides(TrainFields& spec, std::span<const std::string_view> targets) {
  for (const Override& change : overrides_in(spec))
    for (const std::string& name : change.targets)
      if (std::ranges::find(targets, name) == targets.end())
        spec.problem(*change.at, change.key,
                     fmt::format("the runtime has no job {}, only {}", base::printable(name, 60),
                                 base::join(std::vector<std::string>(targets.begin(), targets.end()), ", ")));
}

}  // namespace workload
