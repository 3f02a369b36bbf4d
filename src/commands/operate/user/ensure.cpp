#include "commands/operate/user/ensure.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/objects.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

const Tree* same_object(const std::vector<Tree>& objects, const Tree& wanted) {
  const workload::ObjectName name = workload::name_of(wanted);
  const auto found = std::ranges::find_if(objects, [&](const Tree& object) {
    const workload::ObjectName other = workload::name_of(object);
    return other.kind == name.kind && other.ns == name.ns && other.name == name.name;
  });
  return found == objects.end() ? nullptr : &*found;
}

/// "rolebinding.rbac.authorization.k8s.io/NAME" for kubectl, which takes KIND.VERSION.GROUP.
std::string kubectl_name(const Tree& object) {
  const std::string version = text_of(object, "apiVersion");
  const std::size_t slash = version.find('/');
  const std::string group = slash == std::string::npos ? "" : "." + version.substr(0, slash);
  return fmt::format("{}{}/{}", base::lower(text_of(object, "kind")), group,
                     text_at(object, {"metadata", "name"}));
}

/// kubectl's words for an object that exists, or has another resourceVersion.
bool is_conflict(const std::string& what) {
  return what.find("AlreadyExists") != std::string::npos || what.find("(Conflict)") != std::string::npos ||
         what.find("already exists") != std::string::npos;
}

Result<> check_own(const Tree& object) {
  if (workload::is_managed(object)) return {};
  return base::fail(Fault::blocked,
                    fmt::format("the name is taken: the cluster has a {} that gpuadm did not create",
                                workload::describe(workload::name_of(object))),
                    "choose another name for the user");
}

}  // namespace

Result<UserChanges> compare_user(const workload::UserPlan& plan, session::ClusterClient& client) {
  const auto roles = TRY(read_roles(client.assets()));
  std::vector<Tree> desired = workload::objects_of(plan, roles);
  const Tree cluster_role = workload::user_cluster_role_of(roles);
  desired.push_back(cluster_role);
  std::vector<Tree> references;
  for (const Tree& object : desired) references.push_back(workload::reference_to(workload::name_of(object)));
  const auto existing = TRY(client.find(references));
  desired.pop_back();
  UserChanges changes;
  for (Tree& object : desired) {
    const Tree* found = same_object(existing, object);
    if (!found) {
      changes.missing.push_back(std::move(object));
      continue;
    }
    TRY(check_own(*found));
    if (workload::has_all_of(*found, object)) continue;
    changes.existing.push_back(*found);
    changes.changed.push_back(std::move(object));
  }
  const Tree* role = same_object(existing, cluster_role);
  if (role) TRY(check_own(*role));
  if (!role || !workload::has_all_of(*role, cluster_role)) changes.cluster_role = cluster_role;
  return changes;
}

std::vector<std::string> lines_of(const UserChanges& changes) {
  std::vector<std::string> lines;
  const auto add = [&](const char* verb, const Tree& object) {
    lines.push_back(fmt::format("{} {}", verb, workload::describe(workload::name_of(object))));
  };
  if (changes.cluster_role) add("apply", *changes.cluster_role);
  for (const Tree& object : changes.missing) add("create", object);
  for (const Tree& object : changes.changed) add("change", object);
  return lines;
}

Result<> apply_changes(const UserChanges& changes, const std::string& ns, session::ClusterClient& client) {
  const auto explained = [](base::Error error) -> std::unexpected<base::Error> {
    if (is_conflict(error.what)) {
      error.fault = Fault::blocked;
      error.what = "the user was changed meanwhile, by another administrator: " + error.what;
      error.hint = "run again";
    }
    return std::unexpected(std::move(error));
  };
  if (changes.cluster_role) TRY(client.apply({*changes.cluster_role}));
  for (std::size_t i = 0; i < changes.changed.size(); ++i) {
    const Tree& desired = changes.changed[i];
    const auto done = client.patch(text_at(desired, {"metadata", "namespace"}), kubectl_name(desired),
                                   workload::patch_to(changes.existing[i], desired));
    if (!done) return explained(done.error());
  }
  // One at a time, and none is deleted again: of two administrators, one fails at the first object that the
  // other has made, and one of the two runs completes.
  for (const Tree& object : changes.missing)
    if (const auto created = client.create(ns, {object}); !created) return explained(created.error());
  return {};
}

}  // namespace commands
