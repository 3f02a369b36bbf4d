#include "gpuadm/workload/objects.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/quantity.hpp"
#include "gpuadm/workload/user.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace workload {

namespace {

using base::Tree;

constexpr const char *rbac_version = "rbac.authorization.k8s.io/v1",
                     *rbac_group = "rbac.authorization.k8s.io";
constexpr std::string_view identity_prefix = "gpuadm:";
/// What a container that requests nothing is counted with.
constexpr const char *usual_cpu = "100m", *usual_memory = "128Mi";

Tree user_object(const char* version, const char* kind, const std::string& name, const std::string& ns,
                 Tree labels) {
  Tree metadata = Tree::map_of({{"name", name}, {"labels", std::move(labels)}});
  if (!ns.empty()) metadata.set("namespace", ns);
  return Tree::map_of({{"apiVersion", version}, {"kind", kind}, {"metadata", std::move(metadata)}});
}

Tree quota_tree(const std::map<std::string, std::string>& hard) {
  Tree tree = Tree::map();
  for (const auto& [resource, amount] : hard) tree.set(resource, amount);
  return tree;
}

/// A quarter of a quantity of memory, in MiB; a container without --memory gets at most so much.
std::string quarter_of(const std::string& memory) {
  const double bytes = kube::parse_quantity(memory).value_or(0);
  return fmt::format("{}Mi", static_cast<long long>(std::max(1.0, std::floor(bytes / 4 / 0x1p20))));
}

/// A quota of memory needs a limit in every container, one of CPUs a request.
Tree limit_range_spec(const UserLimits& limits) {
  Tree container = Tree::map_of({{"type", "Container"}});
  Tree requests = Tree::map_of({{"cpu", usual_cpu}, {"memory", usual_memory}});
  if (!limits.memory.empty()) {
    const std::string quarter = quarter_of(limits.memory);
    requests.set("memory", quarter);
    container.set("default", Tree::map_of({{"memory", quarter}}));
  }
  container.set("defaultRequest", std::move(requests));
  Tree list(Tree::List{std::move(container)});
  if (!limits.storage.empty())
    list.push(Tree::map_of(
        {{"type", "PersistentVolumeClaim"}, {"max", Tree::map_of({{"storage", limits.storage}})}}));
  return Tree::map_of({{"limits", std::move(list)}});
}

/// No pods with the priority of the cluster's own, for which pods of others would be evicted
/// (https://kubernetes.io/docs/concepts/policy/resource-quotas/#resource-quota-per-priorityclass).
Tree priority_quota_spec() {
  Tree scope = Tree::map_of({{"scopeName", "PriorityClass"},
                             {"operator", "In"},
                             {"values", Tree::list_of({"system-node-critical", "system-cluster-critical"})}});
  return Tree::map_of(
      {{"hard", Tree::map_of({{"pods", "0"}})},
       {"scopeSelector", Tree::map_of({{"matchExpressions", Tree(Tree::List{std::move(scope)})}})}});
}

Tree binding_of(const UserPlan& plan, const char* kind, const std::string& ns, const char* role_kind,
                const std::string& role, const Tree& labels) {
  Tree binding = user_object(rbac_version, kind, user_object_name(plan.request.name), ns, labels);
  const auto subject = [](const char* subject_kind, const std::string& name) {
    return Tree::map_of({{"apiGroup", rbac_group}, {"kind", subject_kind}, {"name", name}});
  };
  Tree subjects(Tree::List{subject("User", plan.identity)});
  if (!plan.request.group.empty()) subjects.push(subject("Group", plan.request.group));
  binding.set("subjects", std::move(subjects));
  binding.set("roleRef", Tree::map_of({{"apiGroup", rbac_group}, {"kind", role_kind}, {"name", role}}));
  return binding;
}

const Tree* rules_in(std::span<const Tree> roles, std::string_view kind) {
  for (const Tree& role : roles)
    if (text_of(role, "kind") == kind) return role.find("rules");
  return nullptr;
}

bool same_value(const Tree& existing, const Tree& desired) {
  if (desired.is_map())
    return existing.entries().size() == desired.entries().size() &&
           std::ranges::all_of(desired.entries(), [&](const auto& entry) {
             const Tree* found = existing.find(entry.first);
             return found && same_value(*found, entry.second);
           });
  if (desired.is_list()) return std::ranges::equal(existing.items(), desired.items(), same_value);
  if (existing.text() == desired.text()) return true;
  const auto one = kube::parse_quantity(existing.text()), other = kube::parse_quantity(desired.text());
  return one && other && *one == *other;
}

constexpr std::string_view user_parts[] = {"spec", "rules", "subjects"};

/// The desired object, with the entries of a quota that an administrator has set.
Tree with_entries_of_others(const Tree& existing, Tree desired) {
  const Tree* has = existing.at({"spec", "hard"});
  if (!has || !desired.at({"spec", "hard"})) return desired;
  for (const auto& [resource, amount] : has->entries())
    if (!is_limited_by_gpuadm(resource)) desired["spec"]["hard"].set(resource, amount);
  return desired;
}

}  // namespace

Result<std::string> new_identity(const std::string& name) {
  return fmt::format("{}{}:{}", identity_prefix, name, TRY(new_instance()));
}

std::string user_in_identity(std::string_view identity) {
  if (!identity.starts_with(identity_prefix)) return {};
  identity.remove_prefix(identity_prefix.size());
  const std::size_t colon = identity.find(':');
  return colon == std::string_view::npos ? std::string() : std::string(identity.substr(0, colon));
}

std::string user_object_name(const std::string& name) {
  return "gpuadm-user-" + name;
}

std::vector<Tree> objects_of(const UserPlan& plan, std::span<const Tree> roles) {
  const spec::User& request = plan.request;
  const std::string& ns = request.name_space();
  const std::string name = user_object_name(request.name);
  const Tree labels = labels_of(user_kind, request.name);
  std::vector<Tree> objects;
  if (plan.makes_namespace) {
    Tree all = labels;
    for (const char* mode : {"enforce", "warn"})
      all.set(fmt::format("pod-security.kubernetes.io/{}", mode), "baseline");
    objects.push_back(user_object("v1", "Namespace", ns, "", std::move(all)));
  }
  Tree quota = user_object("v1", "ResourceQuota", name, ns, labels);
  quota.set("spec", Tree::map_of({{"hard", quota_tree(plan.quota.hard)}}));
  objects.push_back(std::move(quota));
  Tree priority = user_object("v1", "ResourceQuota", name + "-priority", ns, labels);
  priority.set("spec", priority_quota_spec());
  objects.push_back(std::move(priority));
  Tree range = user_object("v1", "LimitRange", name, ns, labels);
  range.set("spec", limit_range_spec(request.limits));
  objects.push_back(std::move(range));
  Tree role = user_object(rbac_version, "Role", name, ns, labels);
  if (const Tree* rules = rules_in(roles, "Role")) role.set("rules", *rules);
  objects.push_back(std::move(role));
  objects.push_back(
      binding_of(plan, "ClusterRoleBinding", "", "ClusterRole", std::string(user_cluster_role), labels));
  objects.push_back(binding_of(plan, "RoleBinding", ns, "Role", name, labels));
  return objects;
}

Tree user_cluster_role_of(std::span<const Tree> roles) {
  Tree role = user_object(rbac_version, "ClusterRole", std::string(user_cluster_role), "",
                          Tree::map_of({{std::string(managed_by_label), managed_by}}));
  if (const Tree* rules = rules_in(roles, "ClusterRole")) role.set("rules", *rules);
  return role;
}

bool has_all_of(const Tree& existing, const Tree& desired) {
  const Tree all = with_entries_of_others(existing, desired);
  for (const std::string_view part : user_parts) {
    const Tree* wanted = all.find(part);
    const Tree* found = existing.find(part);
    if (wanted && (!found || !same_value(*found, *wanted))) return false;
  }
  // Others may have added labels.
  const Tree* labels = all.at({"metadata", "labels"});
  const Tree* found = existing.at({"metadata", "labels"});
  return !labels || std::ranges::all_of(labels->entries(), [&](const auto& label) {
    const Tree* value = found ? found->find(label.first) : nullptr;
    return value && value->text() == label.second.text();
  });
}

Tree patch_to(const Tree& existing, const Tree& desired) {
  const Tree all = with_entries_of_others(existing, desired);
  Tree metadata = Tree::map_of({{"resourceVersion", text_at(existing, {"metadata", "resourceVersion"})}});
  if (const Tree* labels = all.at({"metadata", "labels"})) metadata.set("labels", *labels);
  if (const Tree* annotations = all.at({"metadata", "annotations"}))
    metadata.set("annotations", *annotations);
  Tree patch = Tree::map_of({{"metadata", std::move(metadata)}});
  for (const std::string_view part : user_parts)
    if (const Tree* wanted = all.find(part)) patch.set(part, *wanted);
  // The end is that of a certificate of an earlier identity.
  const Tree *subjects = all.find("subjects"), *had = existing.find("subjects");
  if (subjects && had && !same_value(*had, *subjects))
    patch["metadata"]["annotations"].set(certificate_ends_annotation, Tree());
  // In a merge patch, null deletes an entry.
  const Tree* has = existing.at({"spec", "hard"});
  const Tree* wanted = all.at({"spec", "hard"});
  if (has && wanted)
    for (const auto& [resource, amount] : has->entries())
      if (!wanted->find(resource)) patch["spec"]["hard"].set(resource, Tree());
  return patch;
}

}  // namespace workload
