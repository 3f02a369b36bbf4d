#include "gpuadm/base/json.hpp"

#include "commands/operate/user/described.hpp"

#include <doctest/doctest.h>

namespace {

using base::Tree;

Tree object(const std::string& text) {
  return base::json::read(text, "test").value();
}

spec::User user_named(const std::string& name, const std::string& gpus = {}) {
  return {.name = name, .ns = {}, .limits = {gpus, {}, {}, {}}, .group = {}};
}

/// The user anna, who exists with a quota of one GPU, and is to have two.
commands::UserAddition another_quota() {
  commands::UserAddition addition;
  addition.plan.request = user_named("anna", "2");
  addition.plan.quota.hard = {{"requests.nvidia.com/gpu", "2"}, {"services.nodeports", "0"}};
  addition.needs_certificate = false;
  addition.existing.emplace();
  addition.existing->name = "anna";
  addition.existing->has_rights = true;
  addition.existing->hard = {
      {"pods", "20"}, {"requests.cpu", "8"}, {"requests.nvidia.com/gpu", "1"}, {"services.nodeports", "1"}};
  addition.changes.changed.push_back(
      object(R"({"kind":"ResourceQuota","metadata":{"name":"gpuadm-user-anna","namespace":"anna"}})"));
  return addition;
}

}  // namespace

TEST_CASE("a user who is missing is added, another quota is changed, everything else is completed") {
  commands::UserAddition addition = another_quota();
  CHECK(title_of(addition) == "Change the quota of the user anna");
  addition.needs_certificate = true;
  CHECK(title_of(addition) == "Complete the user anna");
  addition.needs_certificate = false;
  addition.changes.changed.front().set("kind", "RoleBinding");
  CHECK(title_of(addition) == "Complete the user anna");
  addition.existing.reset();
  CHECK(title_of(addition) == "Add the user anna");
}

TEST_CASE("the difference of a quota has the entries that change, and none that an administrator added") {
  CHECK(diff_of(another_quota()) ==
        "-requests.cpu: 8\n-requests.nvidia.com/gpu: 1\n-services.nodeports: 1\n"
        "+requests.nvidia.com/gpu: 2\n+services.nodeports: 0\n"
        "+change ResourceQuota anna/gpuadm-user-anna\n");
  commands::UserAddition added;
  added.plan.request = user_named("anna", "1");
  added.changes.missing.push_back(object(R"({"kind":"Namespace","metadata":{"name":"anna"}})"));
  added.credentials.file = "/state/anna.kubeconfig";
  CHECK(diff_of(added) == "+create Namespace anna\n+write the kubeconfig /state/anna.kubeconfig\n");
}

TEST_CASE("notes name their user, and one about the cluster is shown once") {
  commands::DescribedUsers users;
  for (const char* name : {"anna", "ben"}) {
    commands::DescribedUser user{{user_named(name), {}, commands::WrittenIn::cluster_file, "lab", {}}, {}};
    user.addition.notes = {"the quota of 5 nvidia.com/gpu is above the 2 that the nodes have"};
    user.addition.cluster_note = "Kubernetes 1.20 does not enforce Pod Security";
    users.changes.push_back(user);
  }
  CHECK(notes_of(users) == std::vector<std::string>{
                               "user anna: the quota of 5 nvidia.com/gpu is above the 2 that the nodes have",
                               "user ben: the quota of 5 nvidia.com/gpu is above the 2 that the nodes have",
                               "Kubernetes 1.20 does not enforce Pod Security"});
}

TEST_CASE("a user whom the file does not list is named with the command that removes it") {
  commands::UserTarget target;
  target.hosts.file = "cluster.yaml";
  CHECK(commands::note_of_not_listed("carl", target) ==
        "the cluster has the user carl, which cluster.yaml does not list: gpuadm user remove carl -f "
        "cluster.yaml");
}

TEST_CASE("after a user was added or removed, a cluster file that says otherwise is named") {
  using commands::note_of_file;
  using commands::UserIs;
  spec::Cluster cluster;
  CHECK(note_of_file(cluster, "c.yaml", user_named("anna"), UserIs::present).empty());
  cluster.users = {user_named("anna", "2"), user_named("ben")};
  CHECK(note_of_file(cluster, "c.yaml", user_named("anna", "2"), UserIs::present).empty());
  CHECK(note_of_file(cluster, "c.yaml", user_named("anna", "1"), UserIs::present) ==
        "c.yaml has another quota for the user anna, which the next gpuadm apply sets");
  CHECK(note_of_file(cluster, "c.yaml", user_named("ben", "4"), UserIs::present).empty());
  CHECK(note_of_file(cluster, "c.yaml", user_named("carl", "1"), UserIs::present) ==
        "c.yaml lists users, and not carl: add it there, or gpuadm diff shows it as a difference\n"
        "- name: carl\n  gpus: \"1\"\n  days: 90");
  CHECK(note_of_file(cluster, "c.yaml", user_named("carl"), UserIs::removed).empty());
  CHECK(note_of_file(cluster, "c.yaml", user_named("ben"), UserIs::removed) ==
        "c.yaml lists the user ben: delete it there, or the next gpuadm apply adds it again");
}
