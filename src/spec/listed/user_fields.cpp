#include "spec/listed/user_fields.hpp"

#include "gpuadm/spec/user.hpp"

#include "spec/listed/quantities.hpp"

#include <set>

namespace spec {

namespace {

const std::string users_prefix = "users[].";
constexpr const char* no_limit = "not limited";

/// A user with this name, and everything else valid.
bool is_name_of_user(const std::string& text) {
  User user;
  user.name = text;
  user.ns = "any";
  return check_user(user).has_value();
}

Type<std::string> gpu_limits() {
  return text_where(
      "GPUs such as 2, 1/4:3 or 1g.10gb:2",
      [](const std::string& text) { return parse_gpu_limits("gpus", text).has_value(); },
      R"(^[0-9][-+.:,/0-9a-z]*$)");
}

Tree user_schema() {
  Tree schema = schema_of_fields(users_prefix, user_fields());
  schema.set("type", "object");
  schema.set("required", Tree::list_of({"name"}));
  return schema;
}

}  // namespace

const std::vector<Field<User>>& user_fields() {
  using U = User;
  static const std::vector<Field<U>> fields = {
      field<U>(users_prefix + "name",
               text_where("DNS label of at most 40 characters", is_name_of_user,
                          R"(^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$)"),
               {"Name of the user; unique, required.", "none"}, &U::name),
      field<U>(users_prefix + "gpus", gpu_limits(),
               {"GPUs that the user may hold: 2, shares such as 1/4:2, MIG instances such as 1g.10gb:2, or "
                "several, separated by commas.",
                usual_gpus},
               &U::limits, &UserLimits::gpus),
      field<U>(users_prefix + "cpus", cpus(), {"CPUs that all pods together may request.", no_limit},
               &U::limits, &UserLimits::cpus),
      field<U>(
          users_prefix + "memory", size(),
          {"Memory that all pods together may request; a container without a limit gets a quarter of it.",
           no_limit},
          &U::limits, &UserLimits::memory),
      field<U>(users_prefix + "storage", size(), {"Size of all volumes together.", no_limit}, &U::limits,
               &UserLimits::storage),
      field<U>(users_prefix + "namespace", name_space(), {"Namespace of the user.", "the name"}, &U::ns),
      field<U>(users_prefix + "existingNamespace", only_if_true(),
               {"Also use a namespace that exists: the user can read and delete everything in it.", "false"},
               &U::existing_namespace),
      field<U>(users_prefix + "group",
               text_where(
                   "group such as oidc:vision", [](const std::string& text) { return is_user_group(text); },
                   R"(^(?!system:)[^\s]+$)"),
               {"Group of another authenticator, such as OIDC, with the same rights.", "none"}, &U::group),
      field<U>(users_prefix + "days", whole_number(1, 3650),
               {"How long the certificate is valid, in days, from Kubernetes 1.22."}, &U::days),
      field<U>(users_prefix + "server",
               text_where("URL such as https://api.lab:6443", is_api_server, R"(^https://[^\s@?#'"\\]+$)"),
               {"Address of the API server in the kubeconfig.", "that of the cluster"}, &U::server),
  };
  return fields;
}

Type<std::vector<User>> users() {
  return list_of_maps("users", users_prefix, "name, gpus …", user_fields, user_schema());
}

Tree to_tree(const User& user) {
  return write_fields(user, users_prefix, user_fields());
}

void judge_users(const Cluster& cluster, const Tree& file, Problems& problems) {
  const Tree* list = file.find("users");
  if (!list || !list->is_list()) return;
  std::set<std::string> names;
  for (std::size_t i = 0; i < cluster.users.size(); ++i) {
    const User& user = cluster.users[i];
    const Tree& item = list->items()[i];
    if (!item.is_map()) continue;
    if (const Tree* name = item.find("name"); !name || name->is_null())
      problems.add(item.mark, users_prefix + "name: missing");
    if (user.name.empty()) continue;
    if (!names.insert(user.name).second)
      problems.add(user.mark, fmt::format("{}name: duplicate name {}", users_prefix, user.name));
    const Tree* ns = item.find("namespace");
    if (const auto checked = check_user(user); !checked)
      problems.add(user.ns.empty() || !ns ? item.mark : ns->mark,
                   fmt::format("{}namespace: {}; choose another", users_prefix, checked.error().what));
  }
}

}  // namespace spec
