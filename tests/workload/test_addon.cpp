#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/addon_hub.hpp"
#include "gpuadm/workload/addon_proof.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/state.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace {

using base::Tree;
using workload::Addon;

const Addon& addon(const char* name) {
  return **workload::find_addon(name);
}

Tree json(const char* text) {
  return base::json::read(text, "test").value();
}

std::vector<Tree> list(const char* text) {
  return json(text).items();
}

/// The objects of an add-on with every value that its manifest uses.
std::vector<Tree> objects_of(const Addon& one) {
  workload::AddonValues values;
  for (const char* name : {"default_class_node",
                           "default_class_folder",
                           "local_path_image",
                           "local_path_helper_image",
                           "metrics_server_image",
                           "kubelet_insecure",
                           "kueue_image",
                           "kueue_manifest_sum",
                           "dcgm_exporter_image",
                           "interval_milliseconds",
                           "prometheus_image",
                           "prometheus_config",
                           "prometheus_config_sum",
                           "retention",
                           "retention_size",
                           "jupyterhub_hub_image",
                           "jupyterhub_proxy_image",
                           "hub_config",
                           "hub_settings",
                           "hub_sum"})
    values[name] = std::string("value of ") + name;
  auto made = workload::addon_objects(one, *assets::Store::shipped(one.manifest), values);
  REQUIRE_MESSAGE(made, one.name, ": ", made ? "" : made.error().what);
  return *made;
}

std::string refused(const char* name, const std::vector<std::string>& words) {
  const auto settings = workload::parse_addon_settings(addon(name), words);
  REQUIRE_FALSE(settings);
  CHECK(settings.error().fault == base::Fault::usage);
  return settings.error().what + " | " + settings.error().hint;
}

std::string refused_users(const char* text) {
  const auto users = workload::parse_hub_users(base::Secret(text), "users.txt");
  REQUIRE_FALSE(users);
  CHECK(users.error().what.find("secret-word") == std::string::npos);
  return users.error().what;
}

std::string refused_oidc(const std::string& text) {
  const auto settings = workload::parse_oidc(base::Secret(text), "oidc.yaml");
  REQUIRE_FALSE(settings);
  CHECK((settings.error().what + settings.error().hint).find("secret-word") == std::string::npos);
  return settings.error().what;
}

constexpr const char* oidc = R"(client_id: hub
client_secret: secret-word
authorize_url: https://id.lab/auth
token_url: https://id.lab/token
userdata_url: https://id.lab/me
oauth_callback_url: https://hub.lab/hub/oauth_callback
)";

}  // namespace

TEST_CASE("the catalogue: names, at most three settings, a proof, and a manifest") {
  std::set<std::string_view> names;
  for (const Addon& one : workload::addons()) {
    CAPTURE(one.name);
    CHECK(names.insert(one.name).second);
    CHECK(one.settings.size() <= 3);
    CHECK_FALSE(one.message.empty());
    if (!one.by_hand.empty()) continue;
    CHECK_FALSE(one.proof.empty());
    CHECK(assets::Store::shipped(one.manifest));
  }
  CHECK(names.size() == 7);
  CHECK(workload::find_addon("promtheus").error().hint == "did you mean prometheus?");
  CHECK(workload::find_installable_addon("kubeflow-trainer").error().hint ==
        "gpuadm addon show kubeflow-trainer");
  CHECK(addon("kubeflow-trainer").by_hand.find("gpuadm train run -f") != std::string_view::npos);
}

TEST_CASE("settings of an add-on are a closed set with valid values") {
  const auto settings =
      workload::parse_addon_settings(addon("prometheus"), {"storage=data", "retention=30d", "size=50Gi"});
  REQUIRE(settings);
  CHECK(settings->at("retention") == "30d");
  CHECK(refused("prometheus", {"retension=30d"}).find("did you mean retention?") != std::string::npos);
  CHECK(refused("prometheus", {"retention"}).find("the value is missing") != std::string::npos);
  CHECK(refused("prometheus", {"retention=30"}).find("invalid value: 30") != std::string::npos);
  CHECK(refused("prometheus", {"retention=-1d"}).find("invalid value") != std::string::npos);
  CHECK(refused("prometheus", {"retention=d"}).find("invalid value") != std::string::npos);
  CHECK(refused("prometheus", {"storage=data", "storage=data"}).find("given twice") != std::string::npos);
  CHECK(refused("prometheus", {"storage=../etc"}).find("invalid name") != std::string::npos);
  CHECK(refused("prometheus", {"storage=data", "size=big"}).find("not a quantity") != std::string::npos);
  CHECK(refused("prometheus", {"size=10Gi"}).find("there is no storage") != std::string::npos);
  CHECK(refused("local-path", {}).find("needs --set storage=NAME") != std::string::npos);
  CHECK(refused("dcgm-exporter", {"interval=0"}).find("1 to 3600") != std::string::npos);
  CHECK(refused("dcgm-exporter", {"interval=1.5"}).find("invalid value") != std::string::npos);
  CHECK(refused("metrics-server", {"kubelet-tls=no"}).find("skip or verify") != std::string::npos);
  CHECK(refused("metrics-server", {"port=1"}).find("it has: kubelet-tls") != std::string::npos);
  CHECK(refused("jupyterhub", {}).find("either users or oidc") != std::string::npos);
  CHECK(refused("jupyterhub", {"users=a", "oidc=b"}).find("either users or oidc") != std::string::npos);
}

TEST_CASE("every manifest: a namespace first, labels on all objects, and each object once") {
  for (const Addon& one : workload::addons()) {
    if (!one.by_hand.empty()) continue;
    CAPTURE(one.name);
    const auto objects = objects_of(one);
    CHECK(text_at(objects.front(), {"kind"}) == "Namespace");
    CHECK(text_at(objects.front(), {"metadata", "name"}) == one.ns);
    std::set<workload::ObjectName> names;
    for (const Tree& object : objects) {
      const auto name = workload::name_of(object);
      CAPTURE(workload::describe(name));
      CHECK(names.insert(name).second);
      CHECK(workload::is_of_addon(object, one));
      CHECK(base::json::write(object, 0).find("${") == std::string::npos);
      if (name.kind != "Deployment" && name.kind != "DaemonSet") continue;
      const Tree* pod = object.at({"spec", "template"});
      REQUIRE(pod);
      CHECK(workload::is_of_addon(*pod, one));
      CHECK(text_at(*pod, {"metadata", "labels", workload::part_label}) == name.name);
      for (const auto& [key, value] : object.at({"spec", "selector", "matchLabels"})->entries())
        CHECK(text_at(*pod, {"metadata", "labels", key}) == value.text());
      // A tag that moves, or an image of an earlier pull, must not decide what runs.
      for (const Tree& container : pod->at({"spec", "containers"})->items()) {
        CHECK(text_at(container, {"imagePullPolicy"}) == "IfNotPresent");
        CHECK(text_at(container, {"image"}).find("value of ") == 0);
      }
    }
  }
}

TEST_CASE("no add-on reads ConfigMaps, Secrets or logs of the whole cluster, or creates pods in it") {
  for (const Addon& one : workload::addons()) {
    if (!one.by_hand.empty()) continue;
    CAPTURE(one.name);
    for (const Tree& object : objects_of(one)) {
      const Tree* rules = object.find("rules");
      if (text_at(object, {"kind"}) != "ClusterRole" || !rules) continue;
      for (const Tree& rule : rules->items()) {
        const Tree* verbs = rule.find("verbs");
        const bool writes = verbs && std::ranges::any_of(verbs->items(), [](const Tree& verb) {
                              return verb.text() != "get" && verb.text() != "list" && verb.text() != "watch";
                            });
        for (const Tree& resource : rule.find("resources")->items()) {
          CAPTURE(resource.text());
          CHECK(resource.text() != "*");
          CHECK(resource.text() != "configmaps");
          CHECK(resource.text() != "secrets");
          CHECK(resource.text() != "pods/log");
          CHECK_FALSE((resource.text() == "pods" && writes));
        }
      }
    }
  }
}

TEST_CASE("every image of an add-on is in the catalog") {
  const auto catalog = base::yaml::read(*assets::Store::shipped("playbooks/catalog.yaml"), "catalog");
  REQUIRE(catalog);
  for (const Addon& one : workload::addons())
    for (const std::string_view key : one.images) {
      CAPTURE(key);
      CHECK(text_at(*catalog, {"defaults", key}).find(':') != std::string::npos);
    }
}

TEST_CASE("a value stays inside its string, and an unknown one is an error") {
  const auto made = workload::addon_objects(addon("prometheus"),
                                            "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: one }\ndata: "
                                            "{ a: \"<${x}>\", b: '$(y) $y ${x}' }\n",
                                            {{"x", "\", kind: Secret, \"b\": \"${z}\n---\n"}});
  REQUIRE(made);
  REQUIRE(made->size() == 1);
  CHECK(text_at(made->front(), {"kind"}) == "ConfigMap");
  CHECK(text_at(made->front(), {"data", "a"}) == "<\", kind: Secret, \"b\": \"${z}\n---\n>");
  CHECK(text_at(made->front(), {"data", "b"}).starts_with("$(y) $y \""));
  const auto unknown = workload::addon_objects(
      addon("prometheus"), "kind: A\nmetadata: { name: b, labels: { c: '${nothing}' } }\n", {});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().what.find("unknown value ${nothing}") != std::string::npos);
  CHECK_FALSE(workload::addon_objects(addon("prometheus"), "kind: A\n", {}));
  CHECK_FALSE(workload::addon_objects(addon("prometheus"), "\n", {}));
}

TEST_CASE("an inventory is what was made, in its order, and reads back") {
  const Addon& one = addon("prometheus");
  workload::AddonInventory inventory{workload::names_of(objects_of(one)), {{"storage", "data"}}};
  inventory.objects.insert(inventory.objects.begin() + 1, workload::inventory_object(one));
  const Tree object = workload::to_object(one, inventory);
  CHECK(workload::name_of(object) == workload::inventory_object(one));
  CHECK(workload::is_of_addon(object, one));
  const auto read = workload::read_inventory(object);
  REQUIRE(read);
  CHECK(read->objects == inventory.objects);
  CHECK(read->settings == inventory.settings);
  for (
      const char* damaged :
      {R"({"kind":"ConfigMap"})", R"({"data":{"objects.json":"{"}})", R"({"data":{"objects.json":"[]"}})",
       R"({"data":{"objects.json":"[{\"kind\":\"Pod\"}]"}})",
       R"({"data":{"objects.json":"[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"a\"}]","settings.json":"{"}})",
       R"({"data":{"objects.json":"[1]"}})"}) {
    CAPTURE(damaged);
    CHECK_FALSE(workload::read_inventory(json(damaged)));
  }
}

TEST_CASE("an add-on can have objects of the groups, kinds and namespaces of its manifest only") {
  for (const Addon& one : workload::addons()) {
    if (!one.by_hand.empty()) continue;
    CAPTURE(one.name);
    const auto own = workload::manifest_names(one, *assets::Store::shipped(one.manifest));
    REQUIRE(own);
    CHECK(*own == workload::names_of(objects_of(one)));
    for (const workload::ObjectName& name : *own) CHECK(workload::is_possible(name, one, *own));
    const std::string ns(one.ns);
    for (const workload::ObjectName& name : {workload::ObjectName{"v1", "Namespace", "", "kube-system"},
                                             {"v1", "Node", "", "gpu1"},
                                             {"v1", "PersistentVolume", "", "gpuadm-data.default.models"},
                                             {"v1", "Service", "default", "web"},
                                             {"v1", "Service", ns, "../../nodes/gpu1"},
                                             {"v1", "Service", ns, "a\nb"},
                                             {"v1", "Service", ns, ""},
                                             {"example.com/v1", "Service", ns, "web"},
                                             {"v1", "ClusterRoleBinding", "", "cluster-admin"},
                                             {"apps/v1", "StatefulSet", ns, "db"}}) {
      CAPTURE(workload::describe(name));
      CHECK_FALSE(workload::is_possible(name, one, *own));
    }
  }
  // Another version of the same group is possible: it changes with Kubernetes.
  const auto own = workload::manifest_names(addon("prometheus"),
                                            *assets::Store::shipped("templates/addons/prometheus.yaml"));
  CHECK(workload::is_possible({"apps/v2", "Deployment", "gpuadm-prometheus", "other"}, addon("prometheus"),
                              *own));
}

TEST_CASE("what an inventory lists is owned by its labels, once, in its order") {
  const Addon& one = addon("prometheus");
  const auto existing = list(R"([
    {"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"cluster-admin"}},
    {"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"gpuadm-prometheus","labels":
      {"app.kubernetes.io/managed-by":"gpuadm","gpuadm.io/kind":"addon","gpuadm.io/name":"jupyterhub"}}},
    {"apiVersion":"v1","kind":"Service","metadata":{"name":"b","namespace":"gpuadm-prometheus","labels":
      {"app.kubernetes.io/managed-by":"gpuadm","gpuadm.io/kind":"addon","gpuadm.io/name":"prometheus"}}}])");
  auto names = workload::names_of(existing);
  names.push_back(names.back());
  names.push_back({"v1", "Service", "gpuadm-prometheus", "gone"});
  names.push_back({"v1", "Namespace", "", "kube-system"});
  const std::vector<workload::ObjectName> own = {
      {"v1", "Service", "gpuadm-prometheus", ""},
      {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", ""},
      {"v1", "Namespace", "", "gpuadm-prometheus"}};
  auto reviewed = workload::review_inventory(names, one, own);
  CHECK(reviewed.possible.size() == 4);
  CHECK(reviewed.kept ==
        std::vector<std::string>{"Namespace kube-system: the add-on prometheus has no such objects"});
  const auto owned = workload::owned_objects(existing, one, reviewed);
  REQUIRE(owned.size() == 1);
  CHECK(text_at(owned.front(), {"metadata", "name"}) == "b");
  CHECK(reviewed.kept.size() == 3);
}

TEST_CASE("objects of others are named") {
  const auto existing = list(R"([
    {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"gpuadm-prometheus"}},
    {"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"b","labels":
      {"app.kubernetes.io/managed-by":"gpuadm","gpuadm.io/kind":"addon","gpuadm.io/name":"prometheus"}}},
    {"apiVersion":"v1","kind":"Service","metadata":{"name":"c","namespace":"b","labels":
      {"app.kubernetes.io/managed-by":"gpuadm","gpuadm.io/kind":"addon","gpuadm.io/name":"jupyterhub"}}}])");
  CHECK(workload::foreign_objects(existing, addon("prometheus")) ==
        std::vector<std::string>{"Namespace gpuadm-prometheus", "Service b/c"});
  const auto classes = list(R"([
    {"kind":"StorageClass","metadata":{"name":"local-path","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}},
    {"kind":"StorageClass","metadata":{"name":"nfs","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}},
    {"kind":"StorageClass","metadata":{"name":"slow"}},
    {"kind":"Service","metadata":{"name":"other","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}}])");
  CHECK(workload::default_classes(classes, "local-path") == std::vector<std::string>{"nfs"});
}

TEST_CASE("the state of an add-on is that of the part that is furthest from being ready") {
  const char* text = R"([
    {"kind":"Deployment","metadata":{"name":"hub","generation":2,"labels":{"gpuadm.io/part":"hub"}},"spec":{"replicas":1},
     "status":{"observedGeneration":2,"replicas":1,"updatedReplicas":1,"availableReplicas":1}},
    {"kind":"Deployment","metadata":{"name":"proxy","generation":1,"labels":{"gpuadm.io/part":"proxy"}},"spec":{"replicas":1},
     "status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1}},
    {"kind":"Pod","metadata":{"name":"proxy-1","labels":{"gpuadm.io/part":"proxy"}},"spec":{"nodeName":"gpu1"},
     "status":{"phase":"Pending","containerStatuses":[{"image":"chp:1","state":{"waiting":
       {"reason":"ErrImagePull","message":"not found"}}}]}}])";
  auto objects = list(text);
  auto state = workload::read_addon_state(objects);
  CHECK_FALSE(state.ready);
  CHECK(state.exists);
  CHECK(state.pod == "proxy-1");
  CHECK(state.line.starts_with("proxy: waiting for the image"));
  CHECK(state.why == "the image chp:1 does not exist");
  objects[1]["status"].set("availableReplicas", 1);
  CHECK(workload::read_addon_state(objects).ready);
  // The controller has not seen a change yet.
  objects[1]["metadata"].set("generation", 5);
  CHECK_FALSE(workload::read_addon_state(objects).ready);
  CHECK_FALSE(workload::read_addon_state({}).exists);
  auto daemon =
      list(R"([{"kind":"DaemonSet","metadata":{"name":"a","generation":1,"labels":{"gpuadm.io/part":"a"}},
    "status":{"observedGeneration":1,"desiredNumberScheduled":2,"updatedNumberScheduled":2,"numberReady":1}}])");
  CHECK_FALSE(workload::read_addon_state(daemon).ready);
  daemon[0]["status"].set("numberReady", 2);
  CHECK(workload::read_addon_state(daemon).ready);
}

TEST_CASE("metrics: a sample with a number, and none without") {
  const char* text =
      "# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
      "DCGM_FI_DEV_GPU_TEMP_MAX{gpu=\"0\"} 90\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\",modelName=\"A } B\"} NaN\n"
      "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\",modelName=\"A } B\"} 41\nup 1\nempty\n";
  CHECK(workload::find_sample(text, "DCGM_FI_DEV_GPU_TEMP") ==
        "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\",modelName=\"A } B\"} 41");
  CHECK(workload::find_sample(text, "up") == "up 1");
  CHECK_FALSE(workload::find_sample(text, "empty"));
  CHECK_FALSE(workload::find_sample(text, "DCGM_FI_DEV"));
  CHECK_FALSE(workload::find_sample("up{", "up"));
  CHECK_FALSE(workload::find_sample("", "up"));
}

TEST_CASE("answers of the metrics API and of Prometheus") {
  const auto nodes = workload::read_node_metrics(
      R"({"kind":"NodeMetricsList","items":[{"metadata":{"name":"gpu1"},"usage":{"cpu":"120m","memory":"2Gi"}}]})");
  REQUIRE(nodes);
  CHECK(nodes->front().node == "gpu1");
  CHECK(nodes->front().cpu == "120m");
  CHECK_FALSE(workload::read_node_metrics(R"({"kind":"Status","message":"x"})"));
  CHECK_FALSE(workload::read_node_metrics("service unavailable"));
  const auto targets = workload::read_targets(R"({"status":"success","data":{"activeTargets":[
    {"labels":{"job":"kubelet"},"scrapeUrl":"https://192.0.2.11:10250/metrics","health":"down","lastError":"refused","lastScrape":"2026-11-27T07:54:31.5Z"},
    {"labels":{"job":"prometheus"},"health":"up","lastScrape":"2026-11-27T07:54:02.123456789Z"},{"labels":{"job":"cadvisor"},"health":"unknown","lastScrape":"0001-01-01T00:00:00Z"}]}})");
  REQUIRE(targets);
  CHECK(targets->up == 1);
  CHECK(targets->unknown == 1);
  CHECK(targets->oldest == "0001-01-01T00:00:00");
  CHECK(targets->newest == "2026-11-27T07:54:31");
  CHECK(targets->down == std::vector<std::string>{"kubelet https://192.0.2.11:10250/metrics: refused"});
  CHECK(targets->jobs == std::set<std::string>{"cadvisor", "kubelet", "prometheus"});
  CHECK_FALSE(workload::read_targets(R"({"status":"error","error":"x"})"));
  const auto value = workload::read_query(
      R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1.5,"12.5"]}]}})");
  REQUIRE(value);
  CHECK(*value == 12.5);
  const auto none =
      workload::read_query(R"({"status":"success","data":{"resultType":"vector","result":[]}})");
  REQUIRE(none);
  CHECK_FALSE(*none);
  CHECK_FALSE(workload::read_query(R"({"status":"success","data":{"result":[{"value":[1,"x"]}]}})"));
  CHECK(
      workload::read_query(R"({"status":"error","error":"parse error"})").error().what.find("parse error") !=
      std::string::npos);
}

TEST_CASE("the proof of the hub is its last line of JSON") {
  const auto proof = workload::read_hub_proof(
      "warning\n{\"proof\": {\"login\": true, \"pod\": \"p\", \"node\": \"n\", \"gpus\": \"\", \"failure\": "
      "\"\"}}\n");
  REQUIRE(proof);
  CHECK(proof->login);
  CHECK(proof->node == "n");
  CHECK(workload::read_hub_proof("Traceback\nImportError: x\n").error().what.find("ImportError: x") !=
        std::string::npos);
  CHECK_FALSE(workload::read_hub_proof("{\"proof\": {}}"));
  CHECK_FALSE(workload::read_hub_proof(""));
}

TEST_CASE("users of the hub: a line each, and no message has a password") {
  const auto users = workload::parse_hub_users(
      base::Secret("# comment\nanna:secret-word\n\nbob:with:colons:admin\r\n"), "users.txt");
  REQUIRE(users);
  REQUIRE(users->size() == 2);
  CHECK((*users)[0].name == "anna");
  CHECK((*users)[0].password.reveal() == "secret-word");
  CHECK_FALSE((*users)[0].admin);
  CHECK((*users)[1].password.reveal() == "with:colons");
  CHECK((*users)[1].admin);
  CHECK(refused_users("anna secret-word") == "users.txt:1: not a user");
  CHECK(refused_users("\nAnna:secret-word") == "users.txt:2: the name of the user is invalid");
  CHECK(refused_users("anna:short") == "users.txt:1: the password is shorter than 8 characters");
  CHECK(refused_users("anna:secret-word\nanna:secret-word").find("users.txt:2: the user anna occurs twice") ==
        0);
  CHECK(refused_users("gpuadm-proof:secret-word").find("reserved") != std::string::npos);
  CHECK(refused_users("# nothing\n") == "users.txt: no users");
}

TEST_CASE("passwords are hashed as the hub verifies them") {
  // RFC 7914, section 12: the first 32 of the 64 bytes of its vector.
  CHECK(base::scrypt("pleaseletmein", "536f6469756d43686c6f72696465") ==
        "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2");
  const auto hashed = workload::hash_hub_users({{"anna", base::Secret("secret-word"), true}});
  REQUIRE(hashed);
  CHECK(hashed->reveal().find("secret-word") == std::string::npos);
  const Tree tree = json(hashed->reveal().c_str());
  const Tree* anna = tree.find("anna");
  REQUIRE(anna);
  CHECK(text_of(*anna, "digest") == base::scrypt("secret-word", text_of(*anna, "salt")));
  CHECK(anna->find("admin")->as_bool() == true);
  CHECK(text_of(*anna, "salt").size() == 32);
}

TEST_CASE("OpenID Connect: known keys, addresses with https, and a user who may log in") {
  const auto settings =
      workload::parse_oidc(base::Secret(std::string(oidc) + "allow_all: true\n"), "oidc.yaml");
  REQUIRE(settings);
  CHECK(text_of(*settings, "client_id") == "hub");
  CHECK(refused_oidc(oidc) == "oidc.yaml: nobody may log in");
  CHECK(refused_oidc(std::string(oidc) + "allowed_users: []\n") == "oidc.yaml:7: allowed_users is invalid");
  CHECK(refused_oidc(std::string(oidc) + "clientid: secret-word\n") == "oidc.yaml:7: unknown key clientid");
  CHECK(refused_oidc("client_id: hub\nallow_all: true\n") == "oidc.yaml: client_secret is missing");
  CHECK(refused_oidc("token_url: http://id.lab/secret-word\n") == "oidc.yaml:1: token_url is invalid");
  CHECK(refused_oidc("client_secret: [secret-word\n") == "oidc.yaml: not a YAML map of settings");
}

TEST_CASE("users of the hub choose from what the cluster has") {
  facts::ClusterFacts cluster;
  facts::Node node;
  node.name = "gpu1";
  node.allocatable["memory"] = "33554432Ki";  // 32 GiB
  cluster.nodes = std::vector<facts::Node>{node};
  const auto catalog = base::yaml::read(*assets::Store::shipped("playbooks/catalog.yaml"), "catalog");
  workload::GpuSupply supply;
  supply.runtime_class = "nvidia";
  supply.offers = {{"gpu1", "nvidia.com/gpu", "", 1, 4, 0, {}}, {"gpu2", "nvidia.com/gpu", "", 4, 4, 1, {}}};
  supply.share_counts = {4};
  const auto choices = workload::hub_choices(*catalog, cluster, supply, "gpuadm-jupyterhub");
  REQUIRE(choices);
  std::vector<std::string> names, sizes;
  for (const Tree& row : choices->gpus.items()) names.push_back(text_of(row, "name"));
  for (const Tree& row : choices->memory.items()) sizes.push_back(text_of(row, "name"));
  CHECK(names == std::vector<std::string>{"0", "1", "2", "4", "1/4"});
  CHECK(sizes == std::vector<std::string>{"4Gi", "8Gi", "16Gi"});
  const Tree& none = choices->gpus.items()[0];
  CHECK(none.find("pod")->is_map());
  CHECK(none.find("pod")->entries().empty());
  const Tree& two = choices->gpus.items()[2];
  CHECK(text_at(two, {"resources", "limits", "nvidia.com/gpu"}) == "2");
  CHECK(text_at(two, {"pod", "runtimeClassName"}) == "nvidia");
  CHECK(two.at({"pod", "affinity", "nodeAffinity"}));
  const Tree& share = choices->gpus.items()[4];
  CHECK(text_at(share, {"pod", "nodeSelector", "nvidia.com/gpu.replicas"}) == "4");
  CHECK(choices->objects.empty());
  CHECK(choices->image.items().size() >= 2);
  for (const Tree& row : choices->image.items()) CHECK(text_of(row, "plain") != text_of(row, "cuda"));
  CHECK(workload::proof_choice(supply) == "1/4");  // whole GPUs are in use
  CHECK(workload::proof_choice({}) == "0");
}

TEST_CASE("GPUs that are allocated by claims: a template for each choice") {
  workload::GpuSupply supply;
  supply.claims = "v1";
  supply.offers = {{"gpu1", "", "", 1, 2, 2, {}}};
  const auto catalog = base::yaml::read(*assets::Store::shipped("playbooks/catalog.yaml"), "catalog");
  const auto choices = workload::hub_choices(*catalog, {}, supply, "gpuadm-jupyterhub");
  REQUIRE(choices);
  REQUIRE(choices->objects.size() == 2);
  CHECK(text_at(choices->objects[1], {"metadata", "name"}) == "gpus-2");
  CHECK(workload::is_of_addon(choices->objects[1], addon("jupyterhub")));
  const Tree& two = choices->gpus.items()[2];
  CHECK(two.at({"pod", "resourceClaims"}));
  CHECK(two.at({"resources", "claims"}));
  CHECK(workload::proof_choice(supply) == "1");
}

TEST_CASE("add-ons are workloads that do not keep a node") {
  const char* labels =
      R"("labels":{"app.kubernetes.io/managed-by":"gpuadm","gpuadm.io/kind":"KIND","gpuadm.io/name":"one"})";
  const auto pod = [&](const std::string& kind) {
    const std::string text =
        std::string(R"({"kind":"Pod","metadata":{"name":"KIND","namespace":"s",)") + labels +
        R"(},"spec":{"nodeName":"gpu1","containers":[]},"status":{"phase":"Running","conditions":
                       [{"type":"Ready","status":"True"}]}})";
    return json(base::replace_all(text, "KIND", kind).c_str());
  };
  const std::vector<Tree> pods = {pod("addon"), pod("jupyterhub-server")};
  const auto rows = workload::workload_rows(pods);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].kind == "addon");
  CHECK(rows[0].state == "ready");
  const workload::HostWorkloads host{"gpu1", {}, pods};
  const std::vector<std::string> leaving = {"gpu1"};
  CHECK(workload::stranded(std::span(&host, 1), leaving) ==
        std::vector<std::string>{"jupyterhub-server s/one (on gpu1)"});
}
