#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/session/cluster.hpp"

#include "commands/operate/user/addition.hpp"
#include "runner/world.hpp"
#include "transport/place.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

namespace {

using base::Tree;
using commands::UserAsked;
using commands::WrittenIn;

/// This machine as a control-plane node, whose kubectl is tests/lib/api-double.
struct ClusterOfObjects {
  testing_transport::Place folder;
  spec::Cluster cluster = *spec::single("");
  transport::SessionPtr connections = transport::make_session({}, {});
  transport::Fleet fleet{1, nullptr};
  std::vector<Tree> objects;
  assets::Store store = make_store();

  ClusterOfObjects() {
    const std::string& host = cluster.hosts.front().name;
    fleet.add(host, transport::open(*connections, host, *spec::parse_target("")));
    Tree info = object(
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"kube-public","name":"cluster-info"}})");
    info["data"].set("kubeconfig",
                     "clusters:\n- cluster:\n    certificate-authority-data: " +
                         base::base64("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n") +
                         "\n    server: https://192.0.2.10:6443\n  name: ''\n");
    objects.push_back(std::move(info));
  }
  static Tree object(const std::string& text) { return base::json::read(text, "test").value(); }

  [[nodiscard]] base::Result<commands::UserAddition> plan(const spec::User& user, WrittenIn written) {
    REQUIRE(base::write_file(folder.path / "state.json", base::json::write(Tree(objects)), 0600));
    auto client = session::ClusterClient::open(cluster, fleet, store);
    REQUIRE_MESSAGE(client, client.error().what);
    commands::UsersSurvey survey;
    survey.users = workload::users_in(objects);
    survey.kubernetes = {1, 30, 0};
    facts::Node node;
    node.capacity = {{"nvidia.com/gpu", "2"}};
    survey.cluster.nodes = {node};
    survey.cluster.dra_versions.emplace();
    return commands::plan_addition(UserAsked{user, {}, written, "lab", folder.path / "kubeconfig"}, survey,
                                   *client);
  }

  /// The user as gpuadm has made it, with a certificate.
  void make(const spec::User& user) {
    const auto addition = plan(user, WrittenIn::options);
    REQUIRE_MESSAGE(addition, addition.error().what);
    for (Tree made : addition->changes.missing) {
      if (text_of(made, "kind") == "RoleBinding")
        made["metadata"]["annotations"].set(std::string(workload::certificate_ends_annotation),
                                            "2030-01-01T00:00:00Z");
      objects.push_back(std::move(made));
    }
    if (addition->changes.cluster_role) objects.push_back(*addition->changes.cluster_role);
  }

 private:
  assets::Store make_store() {
    const std::filesystem::path over = folder.path / "over", kubectl = folder.path / "bin/kubectl";
    REQUIRE(base::write_file(kubectl,
                             "#!/bin/sh\nAPI_STATE=" + (folder.path / "state.json").string() +
                                 " exec " GPUADM_SOURCE_DIR "/tests/lib/api-double \"$@\"\n",
                             0700));
    REQUIRE(base::write_file(over / "playbooks/kubeconfig.sh",
                             "kubeconfig_is_here=yes\nPATH=" + kubectl.parent_path().string() +
                                 ":$PATH\nfind_kubeconfig() { config=none; }\n",
                             0600));
    return assets::Store::open(over).value();
  }
};

spec::User user_with(const std::string& gpus) {
  return {.name = "anna", .ns = {}, .limits = {gpus, {}, {}, {}}, .group = {}};
}

std::vector<std::string> kinds_of(const std::vector<Tree>& objects) {
  std::vector<std::string> kinds;
  for (const Tree& object : objects) kinds.push_back(text_of(object, "kind"));
  return kinds;
}

}  // namespace

TEST_CASE("user: all that is missing is made, once, and a user of a file has one GPU if it says nothing") {
  if (!is_root()) return;
  ClusterOfObjects cluster;
  const auto added = cluster.plan(user_with(""), WrittenIn::cluster_file);
  REQUIRE_MESSAGE(added, added.error().what);
  CHECK(kinds_of(added->changes.missing) == std::vector<std::string>{"Namespace", "ResourceQuota",
                                                                     "ResourceQuota", "LimitRange", "Role",
                                                                     "ClusterRoleBinding", "RoleBinding"});
  CHECK(added->plan.quota.hard.at("requests.nvidia.com/gpu") == "1");
  CHECK(added->needs_certificate);
  CHECK(added->credentials.api.server == "https://192.0.2.10:6443");
  cluster.make(user_with("1"));
  for (const WrittenIn written : {WrittenIn::options, WrittenIn::cluster_file}) {
    const auto again = cluster.plan(user_with("1"), written);
    REQUIRE_MESSAGE(again, again.error().what);
    CHECK(again->empty());
    CHECK(again->notes.empty());
  }
}

TEST_CASE("user: another quota is refused by user add, and set by a file that has one") {
  if (!is_root()) return;
  ClusterOfObjects cluster;
  cluster.make(user_with("1"));
  const auto typed = cluster.plan(user_with("5"), WrittenIn::options);
  REQUIRE_FALSE(typed);
  CHECK(typed.error().fault == base::Fault::blocked);
  CHECK(typed.error().what.find("with another quota") != std::string::npos);
  CHECK(typed.error().hint == "gpuadm user quota  --gpus N");
  const auto described = cluster.plan(user_with("5"), WrittenIn::cluster_file);
  REQUIRE_MESSAGE(described, described.error().what);
  CHECK(kinds_of(described->changes.changed) == std::vector<std::string>{"ResourceQuota"});
  CHECK(described->changes.missing.empty());
  CHECK_FALSE(described->needs_certificate);
  REQUIRE(described->notes.size() == 1);
  CHECK(described->notes.front() == "the quota of 5 nvidia.com/gpu is above the 2 that the nodes have");
  // Nothing is said of the quota.
  const auto silent = cluster.plan(user_with(""), WrittenIn::cluster_file);
  REQUIRE_MESSAGE(silent, silent.error().what);
  CHECK(silent->empty());
}

TEST_CASE("user: who has no quota keeps none, unless the file has one") {
  if (!is_root()) return;
  ClusterOfObjects cluster;
  cluster.make(user_with("1"));
  std::erase_if(cluster.objects, [](const Tree& object) {
    return text_at(object, {"metadata", "name"}) == "gpuadm-user-anna" &&
           text_of(object, "kind") == "ResourceQuota";
  });
  const auto kept = cluster.plan(user_with(""), WrittenIn::cluster_file);
  REQUIRE_MESSAGE(kept, kept.error().what);
  CHECK(kept->empty());
  const auto made = cluster.plan(user_with("1"), WrittenIn::cluster_file);
  REQUIRE_MESSAGE(made, made.error().what);
  CHECK(kinds_of(made->changes.missing) == std::vector<std::string>{"ResourceQuota"});
}

TEST_CASE("user: a namespace of others, another namespace and another group are refused") {
  if (!is_root()) return;
  ClusterOfObjects cluster;
  cluster.objects.push_back(ClusterOfObjects::object(
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"anna","labels":{}}})"));
  for (const auto& [written, hint] : {std::pair(WrittenIn::options, "--existing-namespace"),
                                      std::pair(WrittenIn::cluster_file, "existingNamespace: true")}) {
    const auto refused = cluster.plan(user_with("1"), written);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().fault == base::Fault::blocked);
    CHECK(refused.error().what.find("was not created for this user") != std::string::npos);
    CHECK(refused.error().hint.find(hint) != std::string::npos);
  }
  spec::User user = user_with("1");
  user.existing_namespace = true;
  const auto taken = cluster.plan(user, WrittenIn::cluster_file);
  REQUIRE_MESSAGE(taken, taken.error().what);
  CHECK(taken->foreign_namespace);
  cluster.objects.pop_back();
  cluster.make(user_with("1"));
  user = user_with("1");
  user.ns = "vision";
  const auto elsewhere = cluster.plan(user, WrittenIn::cluster_file);
  REQUIRE_FALSE(elsewhere);
  CHECK(elsewhere.error().what == "the user anna exists, in the namespace anna");
  user = user_with("1");
  user.group = "oidc:vision";
  const auto grouped = cluster.plan(user, WrittenIn::cluster_file);
  REQUIRE_FALSE(grouped);
  CHECK(grouped.error().what == "the user anna exists, with no group");
}
