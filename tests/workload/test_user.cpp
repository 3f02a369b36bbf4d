#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/user.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

namespace {

using base::Tree;
using workload::UserLimits;

facts::Node gpu_node(std::map<std::string, std::string> capacity, const std::string& shares = {}) {
  facts::Node node;
  node.name = "gpu1";
  node.capacity = std::move(capacity);
  if (!shares.empty()) node.labels["nvidia.com/gpu.replicas"] = shares;
  return node;
}

facts::ClusterFacts cluster_of(std::vector<facts::Node> nodes) {
  facts::ClusterFacts facts;
  facts.nodes = std::move(nodes);
  facts.dra_versions.emplace();  // not served
  return facts;
}

/// "requests.nvidia.com/gpu=2 ...", without entries that are 0; of shares and MIG.
std::string quota_text(const std::string& gpus, const facts::ClusterFacts& cluster) {
  const auto quota = workload::quota_of({gpus, {}, {}, {}}, cluster);
  REQUIRE(quota);
  std::string text;
  for (const auto& [entry, amount] : quota->hard)
    if (amount != "0") text += (text.empty() ? "" : " ") + entry + "=" + amount;
  return text;
}

std::vector<Tree> roles() {
  const std::string file = GPUADM_SOURCE_DIR "/templates/user-role.yaml";
  return base::yaml::read_all(base::read_file(file).value(), file, base::yaml::Dialect::kubernetes).value();
}

workload::UserPlan plan_of(const UserLimits& limits) {
  workload::UserPlan plan;
  plan.request = {"anna", {}, limits, {}};
  plan.identity = "gpuadm:anna:3f2a9c41d0";
  plan.quota = workload::quota_of(limits, cluster_of({gpu_node({{"nvidia.com/gpu", "4"}})})).value();
  return plan;
}

const Tree& of_kind(const std::vector<Tree>& objects, std::string_view kind) {
  for (const Tree& object : objects)
    if (text_of(object, "kind") == kind) return object;
  FAIL("there is no " << kind);
  return objects.front();
}

}  // namespace

TEST_CASE("every resource of GPUs that a node has is limited, those that are not requested to 0") {
  const auto mixed = cluster_of(
      {gpu_node({{"nvidia.com/gpu", "4"}, {"cpu", "64"}}), gpu_node({{"nvidia.com/mig-1g.10gb", "7"}})});
  const auto quota = workload::quota_of({"2", {}, {}, {}}, mixed);
  REQUIRE(quota);
  CHECK(quota->hard.at("requests.nvidia.com/gpu") == "2");
  CHECK(quota->hard.at("requests.nvidia.com/gpu.shared") == "0");
  CHECK(quota->hard.at("requests.nvidia.com/mig-1g.10gb") == "0");
  CHECK_FALSE(quota->hard.contains("requests.cpu"));
  CHECK(quota->notes.empty());
  CHECK(quota_text("2,1g.10gb:3", mixed) == "requests.nvidia.com/gpu=2 requests.nvidia.com/mig-1g.10gb=3");
  CHECK(quota_text("", mixed).empty());
}

TEST_CASE("where nodes have only shares, a GPU is as many shares as it is divided into") {
  const auto shared = cluster_of({gpu_node({{"nvidia.com/gpu", "16"}}, "4")});
  CHECK(quota_text("2", shared) == "requests.nvidia.com/gpu=8");
  CHECK(quota_text("1/4:3", shared) == "requests.nvidia.com/gpu=3");
  CHECK(quota_text("1/4", shared) == "requests.nvidia.com/gpu=1");
  const auto renamed = cluster_of({gpu_node({{"nvidia.com/gpu.shared", "16"}}, "4")});
  CHECK(quota_text("1", renamed) == "requests.nvidia.com/gpu.shared=4");
  const auto both =
      cluster_of({gpu_node({{"nvidia.com/gpu", "4"}}), gpu_node({{"nvidia.com/gpu", "16"}}, "4")});
  CHECK(quota_text("2", both) == "requests.nvidia.com/gpu=2");
  CHECK(workload::quota_of({"1/4:3", {}, {}, {}}, shared)->notes.empty());
}

TEST_CASE("shares are refused where no node divides its GPUs so, and noted where nodes differ") {
  const auto whole = cluster_of({gpu_node({{"nvidia.com/gpu", "4"}})});
  for (const char* gpus : {"1/4:3", "1/4", "1,1/4:3"}) {
    const auto quota = workload::quota_of({gpus, {}, {}, {}}, whole);
    REQUIRE_FALSE(quota);
    CHECK(quota.error().fault == base::Fault::usage);
    CHECK(quota.error().what.find("4 shares") != std::string::npos);
    CHECK(quota.error().hint.find("gpuadm gpu share NODE 4") != std::string::npos);
  }
  const auto shared = cluster_of({gpu_node({{"nvidia.com/gpu", "16"}}, "4")});
  CHECK_FALSE(workload::quota_of({"1/8", {}, {}, {}}, shared));
  CHECK_FALSE(workload::quota_of({"1/4", {}, {}, {}}, cluster_of({})));
  const auto both =
      cluster_of({gpu_node({{"nvidia.com/gpu", "4"}}), gpu_node({{"nvidia.com/gpu", "16"}}, "4")});
  const auto quota = workload::quota_of({"1/4:3", {}, {}, {}}, both);
  REQUIRE(quota);
  CHECK(quota->hard.at("requests.nvidia.com/gpu") == "3");
  REQUIRE(quota->notes.size() == 1);
  CHECK(quota->notes.front().find("is a whole GPU") != std::string::npos);
}

TEST_CASE("device classes that could not be read are an error where the cluster may have some") {
  facts::ClusterFacts cluster = cluster_of({gpu_node({{"nvidia.com/gpu", "4"}})});
  const auto classes = workload::gpu_classes_of(cluster);
  REQUIRE(classes);
  CHECK(classes->empty());
  cluster.dra_versions = {"v1alpha2"};  // had no device classes
  CHECK(workload::gpu_classes_of(cluster));
  cluster.dra_versions = {"v1"};
  CHECK_FALSE(workload::gpu_classes_of(cluster));
  const auto quota = workload::quota_of({"1", {}, {}, {}}, cluster);
  REQUIRE_FALSE(quota);
  CHECK(quota.error().fault == base::Fault::remote);
  CHECK(quota.error().what.find("device classes") != std::string::npos);
  cluster.dra_versions.reset();
  CHECK_FALSE(workload::quota_of({"1", {}, {}, {}}, cluster));
  cluster.device_classes = {"gpu.nvidia.com", "vfio.gpu.nvidia.com", "compute-domain-daemon.nvidia.com"};
  CHECK(workload::unlimited_gpus({{"requests.nvidia.com/gpu", "1"}}, cluster) ==
        std::vector<std::string>{"gpu.nvidia.com", "vfio.gpu.nvidia.com"});
}

TEST_CASE("devices of NVIDIA's DRA driver are limited by their class, under both names") {
  facts::ClusterFacts claims = cluster_of({gpu_node({})});
  claims.device_classes = {"gpu.nvidia.com", "mig.nvidia.com", "compute-domain-daemon.nvidia.com",
                           "fpga.example.com"};
  claims.slices = {
      {"gpu.nvidia.com", "gpu1", "gpu1", {{"gpu-0", "gpu", "GPU-1", ""}, {"gpu-1", "gpu", "GPU-2", ""}}}};
  const auto quota = workload::quota_of({"2", {}, {}, {}}, claims);
  REQUIRE(quota);
  CHECK(quota->hard.at("gpu.nvidia.com.deviceclass.resource.k8s.io/devices") == "2");
  CHECK(quota->hard.at("requests.deviceclass.resource.kubernetes.io/gpu.nvidia.com") == "2");
  CHECK(quota->hard.at("mig.nvidia.com.deviceclass.resource.k8s.io/devices") == "0");
  CHECK_FALSE(quota->hard.contains("compute-domain-daemon.nvidia.com.deviceclass.resource.k8s.io/devices"));
  CHECK_FALSE(quota->hard.contains("fpga.example.com.deviceclass.resource.k8s.io/devices"));
  CHECK(quota->notes.empty());
  CHECK_FALSE(workload::quota_of({"3", {}, {}, {}}, claims)->notes.empty());
}

TEST_CASE("a quota above the supply is noted, and unreadable nodes are an error") {
  const auto quota = workload::quota_of({"8", {}, {}, {}}, cluster_of({gpu_node({{"nvidia.com/gpu", "4"}})}));
  REQUIRE(quota);
  REQUIRE(quota->notes.size() == 1);
  CHECK(quota->notes.front() == "the quota of 8 nvidia.com/gpu is above the 4 that the nodes have");
  const auto unread = workload::quota_of({"1", {}, {}, {}}, {});
  REQUIRE_FALSE(unread);
  CHECK(unread.error().fault == base::Fault::remote);
}

TEST_CASE("invalid users are refused") {
  const auto refused = [](const spec::User& request) {
    const auto checked = spec::check_user(request);
    return checked ? std::string() : checked.error().what;
  };
  CHECK(refused({"anna", {}, {"1", "16", "128Gi", "1Ti"}, "oidc:vision"}).empty());
  CHECK(refused({"Anna", {}, {}, {}}).find("invalid name of a user") != std::string::npos);
  CHECK(refused({std::string(41, 'a'), {}, {}, {}}).find("longer than 40") != std::string::npos);
  CHECK(refused({"default", {}, {}, {}}).find("belongs to the cluster") != std::string::npos);
  CHECK(refused({"anna", "kube-system", {}, {}}).find("belongs to the cluster") != std::string::npos);
  CHECK(refused({"anna", "gpuadm-prometheus", {}, {}}).find("belongs to the cluster") != std::string::npos);
  CHECK(refused({"anna", {}, {"many", {}, {}, {}}, {}}).find("--gpus") != std::string::npos);
  CHECK(refused({"anna", {}, {"1/4:0", {}, {}, {}}, {}}).find("shares") != std::string::npos);
  CHECK(refused({"anna", {}, {"1", {}, "64", {}}, {}}).find("--memory") != std::string::npos);
  CHECK(refused({"anna", {}, {}, "system:masters"}).find("--group") != std::string::npos);
  CHECK(refused({"anna", {}, {}, "gpuadm:users"}).find("--group") != std::string::npos);
}

TEST_CASE("the objects of a user give rights in the namespace only, and to this identity only") {
  const auto objects = workload::objects_of(plan_of({"2", "8", "64Gi", "100Gi"}), roles());
  CHECK(text_of(objects.front(), "kind") == "Namespace");
  CHECK(text_of(objects.back(), "kind") == "RoleBinding");
  const Tree& ns = objects.front();
  CHECK(text_at(ns, {"metadata", "labels", "pod-security.kubernetes.io/enforce"}) == "baseline");
  for (const Tree& object : objects) {
    CHECK(text_at(object, {"metadata", "labels", "app.kubernetes.io/managed-by"}) == "gpuadm");
    CHECK(text_at(object, {"metadata", "labels", "gpuadm.io/kind"}) == "user");
    CHECK(text_at(object, {"metadata", "labels", "gpuadm.io/name"}) == "anna");
  }
  const Tree& hard = *of_kind(objects, "ResourceQuota").at({"spec", "hard"});
  CHECK(text_of(hard, "requests.cpu") == "8");
  CHECK(text_of(hard, "limits.memory") == "64Gi");
  CHECK(text_of(hard, "requests.storage") == "100Gi");
  CHECK(text_of(hard, "services.nodeports") == "0");
  CHECK(text_of(hard, "services.loadbalancers") == "0");
  const std::string range = base::json::write(of_kind(objects, "LimitRange"), 0);
  CHECK(range.find("\"default\":{\"memory\":\"16384Mi\"}") != std::string::npos);
  for (const char* kind : {"RoleBinding", "ClusterRoleBinding"}) {
    const Tree& subjects = *of_kind(objects, kind).find("subjects");
    REQUIRE(subjects.items().size() == 1);
    CHECK(text_of(subjects.items().front(), "name") == "gpuadm:anna:3f2a9c41d0");
  }
  const auto found = workload::users_in(objects);
  REQUIRE(found.size() == 1);
  CHECK(found.front().owns_namespace);
  CHECK(found.front().identity == "gpuadm:anna:3f2a9c41d0");
}

TEST_CASE("a user has these rights and no others") {
  const std::string all = "create delete deletecollection get list patch update watch",
                    reads = "get list watch";
  const std::map<std::string, std::string> allowed = {{"Role /pods", all},
                                                      {"Role /services", all},
                                                      {"Role /configmaps", all},
                                                      {"Role /secrets", all},
                                                      {"Role /persistentvolumeclaims", all},
                                                      {"Role apps/deployments", all},
                                                      {"Role apps/statefulsets", all},
                                                      {"Role apps/deployments/scale", "get patch update"},
                                                      {"Role apps/statefulsets/scale", "get patch update"},
                                                      {"Role batch/jobs", all},
                                                      {"Role resource.k8s.io/resourceclaims", all},
                                                      {"Role resource.k8s.io/resourceclaimtemplates", all},
                                                      {"Role /pods/log", "get"},
                                                      {"Role /pods/exec", "create get"},
                                                      {"Role /pods/attach", "create get"},
                                                      {"Role /pods/portforward", "create get"},
                                                      {"Role /events", reads},
                                                      {"Role /resourcequotas", reads},
                                                      {"Role /limitranges", reads},
                                                      {"Role /endpoints", reads},
                                                      {"Role /serviceaccounts", reads},
                                                      {"Role events.k8s.io/events", reads},
                                                      {"Role apps/replicasets", "delete get list watch"},
                                                      {"Role apps/daemonsets", reads},
                                                      {"Role apps/controllerrevisions", reads},
                                                      {"Role batch/cronjobs", reads},
                                                      {"Role kueue.x-k8s.io/localqueues", reads},
                                                      {"Role kueue.x-k8s.io/workloads", reads},
                                                      {"Role /namespaces", "get"},
                                                      {"ClusterRole /nodes", reads},
                                                      {"ClusterRole storage.k8s.io/storageclasses", reads},
                                                      {"ClusterRole node.k8s.io/runtimeclasses", reads},
                                                      {"ClusterRole resource.k8s.io/deviceclasses", reads},
                                                      {"ClusterRole resource.k8s.io/resourceslices", reads}};
  std::map<std::string, std::set<std::string>> found;
  for (const Tree& role : roles())
    for (const Tree& rule : role.find("rules")->items()) {
      CHECK(rule.entries().size() == 3);  // apiGroups, resources and verbs
      for (const Tree& group : rule.find("apiGroups")->items())
        for (const Tree& resource : rule.find("resources")->items())
          for (const Tree& verb : rule.find("verbs")->items())
            found[text_of(role, "kind") + " " + group.text() + "/" + resource.text()].insert(verb.text());
    }
  std::map<std::string, std::string> rights;
  for (const auto& [object, verbs] : found)
    for (const std::string& verb : verbs) {
      std::string& text = rights[object];
      text += (text.empty() ? "" : " ") + verb;
    }
  for (const auto& [object, verbs] : rights) {
    CAPTURE(object);
    CAPTURE(verbs);
    CHECK(allowed.contains(object));
    if (allowed.contains(object)) CHECK(verbs == allowed.at(object));
  }
  CHECK(rights.size() == allowed.size());
}

TEST_CASE("service accounts with rights make a namespace unfit for a user") {
  const auto bindings = [](const char* text) {
    return std::vector<Tree>{base::json::read(text, "t").value()};
  };
  const auto refused = [&](const char* text) {
    const auto checked = workload::check_accounts("team", bindings(text));
    if (!checked) CHECK(checked.error().fault == base::Fault::blocked);
    return checked ? std::string() : checked.error().what;
  };
  const auto binding = [](const std::string& subject, const std::string& metadata = R"("name":"deploy")") {
    return R"({"kind":"ClusterRoleBinding","metadata":{)" + metadata +
           R"(},"roleRef":{"kind":"ClusterRole","name":"cluster-admin"},"subjects":[)" + subject + "]}";
  };
  CHECK(refused(binding(R"({"kind":"ServiceAccount","namespace":"team","name":"ci"})").c_str())
            .find("ClusterRoleBinding deploy") != std::string::npos);
  CHECK_FALSE(refused(binding(R"({"kind":"Group","name":"system:serviceaccounts:team"})").c_str()).empty());
  CHECK_FALSE(refused(binding(R"({"kind":"Group","name":"system:serviceaccounts"})").c_str()).empty());
  CHECK_FALSE(refused(binding(R"({"kind":"User","name":"system:serviceaccount:team:ci"})").c_str()).empty());
  CHECK(refused(binding(R"({"kind":"ServiceAccount","namespace":"other","name":"ci"})").c_str()).empty());
  CHECK(refused(binding(R"({"kind":"Group","name":"system:serviceaccounts:team2"})").c_str()).empty());
  CHECK(refused(binding(R"({"kind":"User","name":"team"})").c_str()).empty());
  CHECK(
      refused(
          binding(R"({"kind":"Group","name":"system:serviceaccounts"})",
                  R"("name":"x","labels":{"app.kubernetes.io/managed-by":"gpuadm","gpuadm.io/kind":"user"})")
              .c_str())
          .empty());
  CHECK(refused(R"({"kind":"ClusterRoleBinding","metadata":{"name":"system:service-account-issuer-discovery"},
    "roleRef":{"kind":"ClusterRole","name":"system:service-account-issuer-discovery"},
    "subjects":[{"kind":"Group","name":"system:serviceaccounts"}]})")
            .empty());
  // A subject without a namespace is of that of its binding.
  CHECK_FALSE(refused(R"({"kind":"RoleBinding","metadata":{"name":"x","namespace":"team"},
    "roleRef":{"kind":"Role","name":"x"},"subjects":[{"kind":"ServiceAccount","name":"ci"}]})")
                  .empty());
}

TEST_CASE("pods of a user have no priority of the cluster's own, and that quota is not the user's") {
  auto objects = workload::objects_of(plan_of({"2", {}, {}, {}}), roles());
  const auto priority = std::ranges::find_if(objects, [](const Tree& object) {
    return text_at(object, {"metadata", "name"}) == "gpuadm-user-anna-priority";
  });
  REQUIRE(priority != objects.end());
  CHECK(base::json::write(*priority->find("spec"), 0) ==
        R"({"hard":{"pods":"0"},"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass",)"
        R"("operator":"In","values":["system-node-critical","system-cluster-critical"]}]}})");
  for (int order = 0; order < 2; ++order) {
    const auto users = workload::users_in(objects);
    REQUIRE(users.size() == 1);
    CHECK(users.front().hard.at("requests.nvidia.com/gpu") == "2");
    CHECK_FALSE(users.front().hard.contains("pods"));
    std::ranges::reverse(objects);
  }
}

TEST_CASE("equal objects are not changed, whatever the API server adds and however it writes quantities") {
  const auto objects = workload::objects_of(plan_of({"2", "0.5", "64Gi", {}}), roles());
  Tree quota = of_kind(objects, "ResourceQuota");
  const Tree desired = quota;
  quota["metadata"].set("resourceVersion", "7");
  quota["metadata"]["labels"].set("team", "vision");
  quota["spec"]["hard"].set("requests.cpu", "500m");
  quota.set("status", Tree::map());
  CHECK(workload::has_all_of(quota, desired));
  // What an administrator has set stays; a limit of gpuadm that is not wanted any more is deleted.
  quota["spec"]["hard"].set("pods", "3");
  quota["spec"]["hard"].set("services.nodeports", "2");
  CHECK(workload::has_all_of(quota, desired));
  quota["spec"]["hard"].set("requests.storage", "1Ti");
  CHECK_FALSE(workload::has_all_of(quota, desired));
  const Tree patch = workload::patch_to(quota, desired);
  CHECK(text_at(patch, {"metadata", "resourceVersion"}) == "7");
  CHECK(text_at(patch, {"spec", "hard", "pods"}) == "3");
  CHECK(text_at(patch, {"spec", "hard", "services.nodeports"}) == "2");
  REQUIRE(patch.at({"spec", "hard", "requests.storage"}));
  CHECK(patch.at({"spec", "hard", "requests.storage"})->is_null());
  quota["spec"]["hard"].erase("requests.storage");
  quota["spec"]["hard"].set("requests.nvidia.com/gpu", "3");
  CHECK_FALSE(workload::has_all_of(quota, desired));
  quota["metadata"]["labels"].erase("gpuadm.io/name");
  CHECK_FALSE(workload::has_all_of(quota, desired));
}

TEST_CASE("the end of a certificate is removed with its identity") {
  const auto objects = workload::objects_of(plan_of({"1", {}, {}, {}}), roles());
  const Tree desired = objects.back();
  Tree binding = desired;
  binding["metadata"]["annotations"].set("gpuadm.io/certificate-ends", "2027-02-28T00:00:00Z");
  CHECK_FALSE(workload::patch_to(binding, desired).at({"metadata", "annotations"}));
  binding["subjects"].items().front().set("name", "gpuadm:anna:0000000000");
  const Tree patch = workload::patch_to(binding, desired);
  const Tree* ends = patch.at({"metadata", "annotations", "gpuadm.io/certificate-ends"});
  REQUIRE(ends);
  CHECK(ends->is_null());
}

TEST_CASE("limits that are not given stay, and what is above a new quota is named") {
  const auto cluster = cluster_of({gpu_node({{"nvidia.com/gpu", "4"}})});
  const std::map<std::string, std::string> hard = {{"requests.nvidia.com/gpu", "2"},
                                                   {"requests.cpu", "8"},
                                                   {"requests.memory", "64Gi"},
                                                   {"limits.memory", "64Gi"}};
  UserLimits more_gpus{"4", {}, {}, {}};
  const auto changed = workload::changed_quota(hard, more_gpus, cluster);
  REQUIRE(changed);
  CHECK(changed->hard.at("requests.nvidia.com/gpu") == "4");
  CHECK(changed->hard.at("requests.cpu") == "8");
  CHECK(more_gpus.memory == "64Gi");
  UserLimits more_cpus{{}, "16", {}, {}};
  const auto cpus = workload::changed_quota(hard, more_cpus, cluster);
  REQUIRE(cpus);
  CHECK(cpus->hard.at("requests.nvidia.com/gpu") == "2");
  CHECK(cpus->hard.at("requests.cpu") == "16");
  // Entries that an administrator has added stay, in both cases; GPUs are replaced as a whole.
  auto with_others = hard;
  with_others.insert({{"pods", "20"}, {"limits.cpu", "32"}, {"services.nodeports", "1"}});
  with_others["requests.nvidia.com/mig-1g.10gb"] = "7";
  for (const char* gpus : {"", "4"}) {
    UserLimits limits{gpus, {}, {}, {}};
    const auto kept = workload::changed_quota(with_others, limits, cluster);
    REQUIRE(kept);
    CHECK(kept->hard.at("pods") == "20");
    CHECK(kept->hard.at("limits.cpu") == "32");
    CHECK(kept->hard.at("services.nodeports") == "1");
    CHECK(kept->hard.at("services.loadbalancers") == "0");
    CHECK(kept->hard.contains("requests.nvidia.com/mig-1g.10gb") == (*gpus == 0));
  }
  CHECK(workload::exceeded_by({{"requests.cpu", "17"}, {"requests.memory", "1Gi"}}, *cpus).size() == 1);
  CHECK(workload::unlimited_gpus({{"requests.nvidia.com/gpu", "2"}},
                                 cluster_of({gpu_node({{"nvidia.com/mig-1g.10gb", "7"}})})) ==
        std::vector<std::string>{"nvidia.com/mig-1g.10gb"});
}

TEST_CASE("an identity belongs to one user, and is new each time") {
  const auto one = workload::new_identity("anna"), other = workload::new_identity("anna");
  REQUIRE(one);
  CHECK(*one != *other);
  CHECK(workload::user_in_identity(*one) == "anna");
  CHECK(one->size() <= 64);
  CHECK(workload::new_identity(std::string(40, 'a'))->size() <= 64);
  CHECK(workload::user_in_identity("anna").empty());
  CHECK(workload::user_in_identity("gpuadm:anna").empty());
  CHECK(workload::user_in_identity("system:admin:x").empty());
}

TEST_CASE("a request has a lifetime only where the API has the field") {
  const auto request = [](int minor) {
    return workload::signing_request("csr", "anna", "PEM", std::chrono::days(90), base::Version{1, minor, 0});
  };
  CHECK_FALSE(request(21).at({"spec", "expirationSeconds"}));
  CHECK(text_at(request(22), {"spec", "expirationSeconds"}) == "7776000");
  CHECK(text_at(request(20), {"spec", "signerName"}) == "kubernetes.io/kube-apiserver-client");
  CHECK(workload::pod_security_note(base::Version{1, 20, 2}).find("does not enforce") != std::string::npos);
  CHECK(workload::pod_security_note(base::Version{1, 23, 0}).empty());
}

TEST_CASE("why a request is not signed is read from the controller manager") {
  const auto pod = [](const char* words, const char* phase) {
    return std::vector<Tree>{base::json::read(std::string(R"({"kind":"Pod","status":{"phase":")") + phase +
                                                  R"("},"spec":{"containers":[{"command":[)" + words +
                                                  "]}]}}",
                                              "test")
                                 .value()};
  };
  const char* usual =
      R"("kube-controller-manager","--cluster-signing-key-file=/ca.key","--controllers=*,bootstrapsigner")";
  CHECK(workload::why_not_signed(pod(usual, "Running")).empty());
  CHECK(workload::why_not_signed(pod(usual, "Pending")).find("does not run") != std::string::npos);
  CHECK(workload::why_not_signed(pod(R"("kube-controller-manager")", "Running")).find("no key") !=
        std::string::npos);
  CHECK(workload::why_not_signed(
            pod(R"("--cluster-signing-key-file=/ca.key","--controllers=*,-csrsigning")", "Running"))
            .find("csrsigning") != std::string::npos);
  CHECK(workload::why_not_signed({}).find("no pod") != std::string::npos);
  const auto state = workload::signing_state(
      base::json::read(
          R"({"status":{"conditions":[{"type":"Approved"},{"type":"Failed","reason":"SignerValidationFailure","message":"bad"}]}})",
          "test")
          .value());
  CHECK(state.refusal == "failed: SignerValidationFailure bad");
  CHECK(state.certificate.empty());
}

TEST_CASE("the API server is that of the cluster's ConfigMaps, or of --server") {
  const std::string pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  const auto info = [&](const std::string& server) {
    Tree map =
        base::json::read(
            R"({"kind":"ConfigMap","metadata":{"namespace":"kube-public","name":"cluster-info"}})", "t")
            .value();
    map["data"].set("kubeconfig", "clusters:\n- cluster:\n    certificate-authority-data: " +
                                      base::base64(pem) + "\n    server: " + server + "\n  name: ''\n");
    return std::vector<Tree>{map};
  };
  const auto api = workload::api_server_of(info("https://192.0.2.10:6443"), "");
  REQUIRE(api);
  CHECK(api->server == "https://192.0.2.10:6443");
  CHECK(api->authority == pem);
  CHECK(workload::api_server_of(info("https://192.0.2.10:6443"), "https://api.example:443")->server ==
        "https://api.example:443");
  CHECK_FALSE(workload::api_server_of(info("http://192.0.2.10:8080"), ""));
  CHECK_FALSE(workload::api_server_of(info("https://user:word@192.0.2.10"), ""));
  CHECK_FALSE(workload::api_server_of({}, ""));
  const Tree config = workload::kubeconfig_of("lab", "anna", "anna", *api, pem, "KEY");
  CHECK(text_of(config, "current-context") == "anna@lab");
  CHECK(workload::certificate_in_kubeconfig(config) == pem);
  CHECK(workload::authority_in_kubeconfig(config) == pem);
  CHECK(workload::authority_in_kubeconfig(Tree()).empty());
  CHECK(workload::certificate_in_kubeconfig(Tree()).empty());
}
