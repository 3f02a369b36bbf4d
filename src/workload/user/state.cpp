#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/quantity.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/user.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Tree;

constexpr std::size_t longest_text = 300;
constexpr const char* enforce_label = "pod-security.kubernetes.io/enforce";

std::string user_text(const Tree* value) {
  return value ? base::printable(value->text(), longest_text) : "";
}

/// Of objects that only administrators can make and change.
bool is_of_user(const Tree& object) {
  return is_managed(object) && text_of(*object.at({"metadata", "labels"}), kind_label) == user_kind;
}

std::map<std::string, std::string> amounts_in(const Tree* map) {
  std::map<std::string, std::string> amounts;
  if (map)
    for (const auto& [resource, amount] : map->entries())
      amounts[base::printable(resource, longest_text)] = user_text(&amount);
  return amounts;
}

void take_binding(const Tree& binding, UserState& user) {
  user.has_rights = true;
  user.ns = user_text(binding.at({"metadata", "namespace"}));
  if (const Tree* subjects = binding.find("subjects"))
    for (const Tree& subject : subjects->items())
      (text_of(subject, "kind") == "Group" ? user.group : user.identity) = user_text(subject.find("name"));
  if (const Tree* annotations = binding.at({"metadata", "annotations"}))
    user.ends = base::parse_time(text_of(*annotations, certificate_ends_annotation));
}

/// "nvidia.com/gpu" of "requests.nvidia.com/gpu".
std::string resource_of_quota(const std::string& entry) {
  constexpr std::string_view prefix = "requests.";
  return entry.starts_with(prefix) ? entry.substr(prefix.size()) : entry;
}

bool is_zero(const std::string& amount) {
  return kube::parse_quantity(amount) == 0.0;
}

Tree map_tree(const std::map<std::string, std::string>& values) {
  Tree tree = Tree::map();
  for (const auto& [key, value] : values) tree.set(key, value);
  return tree;
}

/// Whether the subject of a binding is a service account of the namespace, by its own name or by a group.
bool is_account_of(const Tree& subject, const std::string& binding_ns, const std::string& ns) {
  const std::string kind = text_of(subject, "kind"), name = text_of(subject, "name");
  if (kind == "ServiceAccount") {
    const std::string of = text_of(subject, "namespace");
    return (of.empty() ? binding_ns : of) == ns;
  }
  if (kind == "User") return name.starts_with("system:serviceaccount:" + ns + ":");
  return kind == "Group" && (name == "system:serviceaccounts" || name == "system:serviceaccounts:" + ns);
}

}  // namespace

Result<> check_accounts(const std::string& ns, std::span<const Tree> bindings) {
  for (const Tree& binding : bindings) {
    const Tree* subjects = binding.find("subjects");
    // Kubernetes gives this role, which reads the keys of tokens, to all service accounts.
    if (!subjects || is_of_user(binding) ||
        text_at(binding, {"roleRef", "name"}) == "system:service-account-issuer-discovery")
      continue;
    const std::string binding_ns = text_at(binding, {"metadata", "namespace"});
    if (std::ranges::none_of(subjects->items(),
                             [&](const Tree& subject) { return is_account_of(subject, binding_ns, ns); }))
      continue;
    const std::string name = base::printable(describe(name_of(binding)), longest_text);
    return base::fail(
        base::Fault::blocked,
        fmt::format("service accounts of the namespace {} have rights by the {}: pods of the user could use "
                    "them",
                    ns, name),
        "choose another namespace; or delete the binding, if nothing needs it");
  }
  return {};
}

std::vector<std::string> user_kinds() {
  return {"resourcequotas", "rolebindings.rbac.authorization.k8s.io", "namespaces"};
}

std::vector<UserState> users_in(std::span<const Tree> objects) {
  std::map<std::string, UserState> users;
  std::map<std::string, const Tree*> namespaces;
  for (const Tree& object : objects) {
    const std::string kind = text_of(object, "kind");
    if (kind == "Namespace") namespaces[text_at(object, {"metadata", "name"})] = &object;
    if (!is_of_user(object)) continue;
    const Tree* labels = object.at({"metadata", "labels"});
    UserState& user = users[user_text(labels->find(name_label))];
    if (kind == "RoleBinding") take_binding(object, user);
    if (kind == "ResourceQuota" &&
        text_at(object, {"metadata", "name"}) == user_object_name(text_of(*labels, name_label))) {
      user.has_quota = true;
      user.hard = amounts_in(object.at({"spec", "hard"}));
      user.used = amounts_in(object.at({"status", "used"}));
      if (user.ns.empty()) user.ns = user_text(object.at({"metadata", "namespace"}));
    }
    if (kind == "Namespace") {
      user.owns_namespace = true;
      if (user.ns.empty()) user.ns = user_text(object.at({"metadata", "name"}));
    }
  }
  std::vector<UserState> list;
  for (auto& [name, user] : users) {
    if (name.empty()) continue;
    user.name = name;
    if (const auto found = namespaces.find(user.ns); found != namespaces.end()) {
      const Tree* labels = found->second->at({"metadata", "labels"});
      if (labels) user.pod_security = user_text(labels->find(enforce_label));
      user.is_being_deleted = found->second->at({"metadata", "deletionTimestamp"}) != nullptr;
    }
    list.push_back(std::move(user));
  }
  return list;
}

std::string usage_of(const UserState& user) {
  std::vector<std::string> parts;
  for (const auto& [entry, hard] : user.hard) {
    // The same devices under another name.
    if (entry.starts_with("requests.deviceclass.resource.kubernetes.io/")) continue;
    const std::string resource = resource_of_quota(entry);
    const bool is_gpu = resource.find("nvidia.com") != std::string::npos;
    if ((is_gpu || resource.starts_with("services.")) && is_zero(hard)) continue;
    const auto used = user.used.find(entry);
    parts.push_back(fmt::format("{} {} of {}", resource, used == user.used.end() ? "?" : used->second, hard));
  }
  return parts.empty() ? (user.has_quota ? "no GPUs" : "no quota") : base::join(parts, ", ");
}

std::string end_of(const std::optional<double>& ends, base::Time now) {
  if (!ends) return "unknown";
  constexpr double day = 86400;
  const double left = *ends - std::chrono::duration<double>(now.time_since_epoch()).count();
  if (left < 0) return fmt::format("ended {} ago", base::human_seconds(-left));
  return left < 2 * day ? "in " + base::human_seconds(left)
                        : fmt::format("in {} days", static_cast<long long>(left / day));
}

Tree to_tree(std::span<const UserState> users, base::Time now) {
  Tree list = Tree::list();
  for (const UserState& user : users) {
    Tree one = Tree::map_of({{"name", user.name},
                             {"namespace", user.ns},
                             {"ownsNamespace", user.owns_namespace},
                             {"identity", user.identity},
                             {"group", user.group},
                             {"rights", user.has_rights},
                             {"podSecurity", user.pod_security},
                             {"hard", map_tree(user.hard)},
                             {"used", map_tree(user.used)}});
    if (user.ends) {
      const auto ends = base::Time(
          std::chrono::duration_cast<base::Time::duration>(std::chrono::duration<double>(*user.ends)));
      one.set("certificateEnds", base::iso8601(ends));
      one.set("certificateValid", ends > now);
    }
    list.push(std::move(one));
  }
  return Tree::map_of({{"users", std::move(list)}});
}

std::string pod_security_note(const base::Version& kubernetes) {
  const base::Version begins{1, 23, -1};
  if (kubernetes >= begins) return {};
  return fmt::format(
      "Kubernetes {} does not enforce Pod Security (from 1.23): pods of the user can be privileged and use "
      "directories of nodes, and so become root there. Add only users whom you would give root on the GPU "
      "nodes",
      kubernetes.minor_text());
}

}  // namespace workload
