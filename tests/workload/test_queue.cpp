#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/queue.hpp"
#include "gpuadm/workload/train.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

using base::Tree;
using workload::QueueFlavor;
using workload::Sharing;
using workload::UserState;

facts::Node node_with(const std::string& name, const std::string& product,
                      std::map<std::string, std::string> allocatable) {
  facts::Node node;
  node.name = name;
  node.allocatable = std::move(allocatable);
  if (!product.empty()) node.labels["nvidia.com/gpu.product"] = product;
  return node;
}

UserState user_with(const std::string& name, std::map<std::string, std::string> hard) {
  UserState user;
  user.name = user.ns = name;
  user.has_rights = true;
  user.hard = std::move(hard);
  return user;
}

/// "anna gpuadm-gpu 2+0/0": nominal quota, borrowing limit and lending limit of nvidia.com/gpu, by user and
/// flavor.
std::vector<std::string> quotas_of(const std::vector<Tree>& objects) {
  std::vector<std::string> lines;
  for (const Tree& object : objects) {
    if (text_of(object, "kind") != "ClusterQueue") continue;
    for (const Tree& group : object.at({"spec", "resourceGroups"})->items())
      for (const Tree& flavor : group.find("flavors")->items())
        for (const Tree& quota : flavor.find("resources")->items()) {
          if (text_of(quota, "name") != "nvidia.com/gpu") continue;
          std::string line = text_at(object, {"metadata", "name"}) + " " + text_of(flavor, "name") + " " +
                             text_of(quota, "nominalQuota");
          if (quota.find("borrowingLimit")) line += "+" + text_of(quota, "borrowingLimit");
          if (quota.find("lendingLimit")) line += "/" + text_of(quota, "lendingLimit");
          lines.push_back(line);
        }
  }
  return lines;
}

using Lines = std::vector<std::string>;

const std::vector<QueueFlavor> four = {{"gpuadm-gpu", "", {{"nvidia.com/gpu", 4}}}};
const std::vector<QueueFlavor> two_products = {{"gpuadm-a", "A", {{"nvidia.com/gpu", 4}}},
                                               {"gpuadm-b", "B", {{"nvidia.com/gpu", 2}}}};

std::vector<Tree> case_objects(const char* name) {
  const std::string file = std::string(GPUADM_SOURCE_DIR "/tests/cases/queue/") + name;
  return base::yaml::read(base::read_file(file).value(), file, base::yaml::Dialect::kubernetes)
      .value()
      .items();
}

}  // namespace

TEST_CASE("flavors are the products of nodes, with what all nodes of a product offer") {
  facts::ClusterFacts cluster;
  CHECK(workload::queue_flavors(cluster).error().fault == base::Fault::remote);
  cluster.nodes = {node_with("cpu", "", {{"cpu", "8"}, {"nvidia.com/gpu", "0"}})};
  const auto none = workload::queue_flavors(cluster);
  REQUIRE_FALSE(none);
  CHECK(none.error().fault == base::Fault::blocked);
  cluster.nodes->push_back(node_with("a", "NVIDIA-H200", {{"nvidia.com/gpu", "8"}, {"memory", "1"}}));
  cluster.nodes->push_back(node_with("b", "NVIDIA-H200", {{"nvidia.com/gpu", "4"}}));
  cluster.nodes->push_back(node_with("c", "NVIDIA-A100-(80GB)", {{"nvidia.com/mig-1g.10gb", "7"}}));
  cluster.nodes->push_back(node_with("d", "", {{"nvidia.com/gpu", "1"}}));
  const auto flavors = workload::queue_flavors(cluster);
  REQUIRE(flavors);
  REQUIRE(flavors->size() == 3);
  CHECK(flavors->at(0).name == "gpuadm-gpu");
  CHECK(flavors->at(0).offers.at("nvidia.com/gpu") == 1);
  CHECK(flavors->at(1).name == "gpuadm-nvidia-a100--80gb");
  CHECK(flavors->at(1).offers.at("nvidia.com/mig-1g.10gb") == 7);
  CHECK(flavors->at(2).name == "gpuadm-nvidia-h200");
  CHECK(flavors->at(2).offers.at("nvidia.com/gpu") == 12);
}

TEST_CASE("without users, one queue has all GPUs") {
  const auto objects = workload::queue_objects(four, {}, Sharing::borrow);
  CHECK(quotas_of(objects) == Lines{"gpuadm gpuadm-gpu 4"});
  REQUIRE(objects.size() == 3);
  CHECK(workload::describe(workload::name_of(objects[0])) == "ResourceFlavor gpuadm-gpu");
  CHECK(objects[0].at({"spec", "nodeLabels"}) == nullptr);
  CHECK(workload::describe(workload::name_of(objects[2])) == "LocalQueue default/gpuadm");
  for (const Tree& object : objects) CHECK(workload::is_of_addon(object, **workload::find_addon("kueue")));
}

TEST_CASE("a user's share is the quota if the quotas fit, and the rest is for all") {
  const std::vector users = {user_with("anna", {{"requests.nvidia.com/gpu", "2"}}),
                             user_with("ben", {{"requests.nvidia.com/gpu", "1"}})};
  CHECK(
      quotas_of(workload::queue_objects(four, users, Sharing::strict)) ==
      Lines{"gpuadm gpuadm-gpu 1", "gpuadm-user-anna gpuadm-gpu 2+0/0", "gpuadm-user-ben gpuadm-gpu 1+0/0"});
  CHECK(quotas_of(workload::queue_objects(four, users, Sharing::reclaim)) ==
        Lines{"gpuadm gpuadm-gpu 1", "gpuadm-user-anna gpuadm-gpu 2+0", "gpuadm-user-ben gpuadm-gpu 1+0"});
}

TEST_CASE("quotas above the supply are divided, and no more is promised than there is") {
  std::vector<UserState> users;
  for (const char* name : {"anna", "ben", "carl"})
    users.push_back(user_with(name, {{"requests.nvidia.com/gpu", "3"}}));
  // 3 * 4 / 9: one GPU each is guaranteed, up to three may be held, and one is in no share.
  CHECK(quotas_of(workload::queue_objects(four, users, Sharing::borrow)) ==
        Lines{"gpuadm gpuadm-gpu 1", "gpuadm-user-anna gpuadm-gpu 1+2", "gpuadm-user-ben gpuadm-gpu 1+2",
              "gpuadm-user-carl gpuadm-gpu 1+2"});
  // A quota above the supply counts as all of it.
  users = {user_with("anna", {{"requests.nvidia.com/gpu", "100"}}),
           user_with("ben", {{"requests.nvidia.com/gpu", "0"}})};
  CHECK(quotas_of(workload::queue_objects(four, users, Sharing::borrow)) ==
        Lines{"gpuadm gpuadm-gpu 0", "gpuadm-user-anna gpuadm-gpu 4+0", "gpuadm-user-ben gpuadm-gpu 0+0"});
}

TEST_CASE("a quota is divided between products, and may be held of any") {
  const std::vector users = {user_with("anna", {{"requests.nvidia.com/gpu", "3"}})};
  CHECK(quotas_of(workload::queue_objects(two_products, users, Sharing::borrow)) ==
        Lines{"gpuadm gpuadm-a 2", "gpuadm gpuadm-b 1", "gpuadm-user-anna gpuadm-a 2+1",
              "gpuadm-user-anna gpuadm-b 1+1"});
  const auto objects = workload::queue_objects(two_products, users, Sharing::borrow);
  CHECK(text_at(objects.front(), {"spec", "nodeLabels", "nvidia.com/gpu.product"}) == "A");
}

TEST_CASE("queues of users: their namespaces only, none for one who is removed, one for two in a namespace") {
  UserState leaving = user_with("zoe", {{"requests.nvidia.com/gpu", "4"}});
  leaving.is_being_deleted = true;
  UserState guest = user_with("ben", {{"requests.nvidia.com/gpu", "1"}});
  guest.ns = "anna";
  const std::vector users = {user_with("anna", {{"requests.nvidia.com/gpu", "2"}}), guest,
                             user_with("carl", {{"pods", "4"}}), leaving};
  const auto objects = workload::queue_objects(four, users, Sharing::reclaim);
  std::vector<std::string> locals;
  for (const Tree& object : objects) {
    if (text_of(object, "kind") == "LocalQueue")
      locals.push_back(text_at(object, {"metadata", "namespace"}) + " " +
                       text_at(object, {"spec", "clusterQueue"}));
    if (text_at(object, {"metadata", "name"}) != "gpuadm-user-anna") continue;
    CHECK(text_at(object, {"spec", "namespaceSelector", "matchLabels", "kubernetes.io/metadata.name"}) ==
          "anna");
    CHECK(text_at(object, {"spec", "preemption", "reclaimWithinCohort"}) == "Any");
    CHECK(text_at(object, {"spec", "cohortName"}) == "gpuadm");
  }
  CHECK(locals == Lines{"default gpuadm", "anna gpuadm-user-anna", "carl gpuadm"});
}

TEST_CASE("sharing is one of three words") {
  CHECK(workload::parse_sharing("strict") == Sharing::strict);
  CHECK(workload::parse_sharing("Strict").error().hint == "strict, borrow or reclaim");
  CHECK(workload::parse_addon_settings(**workload::find_addon("kueue"), {"sharing=all"}).error().fault ==
        base::Fault::usage);
}

TEST_CASE("a job in a queue is created suspended, and only if a queue can admit all of its ranks together") {
  workload::TrainJob job;
  job.name = "mnist";
  workload::Role role;
  role.replicas = 2;
  role.gpus.form = workload::GpuRequest::Form::whole;
  role.gpus.count = 1;
  role.pod = workload::pod_of({.image = "a:1", .command = {"torchrun", "x.py"}});
  job.roles.push_back(role);
  const workload::TrainContext context{.form = workload::JobForm::indexed};
  CHECK(workload::check_queue(job, workload::JobForm::one_per_rank, {}));
  CHECK(workload::objects_of(job, context)->others.front().at({"spec", "suspend"}) == nullptr);
  job.queue = "gpuadm";
  CHECK(workload::check_queue(job, workload::JobForm::indexed, {}));
  const Tree object = workload::objects_of(job, context)->others.front();
  CHECK(object.at({"spec", "suspend"})->as_bool() == true);
  CHECK(text_at(object, {"metadata", "labels", "kueue.x-k8s.io/queue-name"}) == "gpuadm");
  CHECK(workload::check_queue(job, workload::JobForm::one_per_rank, {}).error().fault ==
        base::Fault::blocked);
  workload::GpuSupply claims;
  claims.claims = "v1";
  CHECK(workload::check_queue(job, workload::JobForm::indexed, claims).error().fault == base::Fault::blocked);
  job.roles.front().replicas = 1;
  CHECK(workload::check_queue(job, workload::JobForm::one_per_rank, {}));

  // Its state, and the next attempt, which waits again.
  Tree created = object;
  created["metadata"]["labels"].merge(workload::labels_of(workload::train_kind, "mnist"));
  CHECK(workload::train_states({created}, {}).front().queued);
  created["spec"].set("suspend", false);
  CHECK_FALSE(workload::train_states({created}, {}).front().queued);
  created["metadata"]["annotations"].set("gpuadm.io/restarts", "1");
  const auto again = workload::repeated(created, 1);
  REQUIRE(again);
  CHECK(again->at({"spec", "suspend"})->as_bool() == true);
}

TEST_CASE("the list of workloads has the place of a queued job") {
  std::vector<Tree> objects = {base::yaml::read(R"(
kind: Job
metadata: { name: first, namespace: anna, labels: { app.kubernetes.io/managed-by: gpuadm, gpuadm.io/kind: train, gpuadm.io/name: first, kueue.x-k8s.io/queue-name: gpuadm } }
spec: { suspend: true, parallelism: 2 }
)",
                                                "test")
                                   .value()};
  auto rows = workload::workload_rows(objects);
  REQUIRE(rows.size() == 1);
  CHECK(workload::has_queued(objects));
  workload::add_places(rows, objects, workload::queued_jobs(case_objects("workloads.yaml")));
  CHECK(rows[0].state == "queued");
  CHECK(rows[0].why ==
        "1st of 3 in the queue gpuadm-user-anna; needs 4 GPUs, 2 are free; anna/runs has 2 since 2026-11-30 "
        "19:01 UTC");
  workload::add_places(rows, objects, {});
  CHECK(rows[0].why == "Kueue has not queued it yet");
  objects[0]["spec"].set("suspend", false);
  CHECK_FALSE(workload::has_queued(objects));
}

TEST_CASE("jobs in queues: place, GPUs that are missing, and what Kueue says") {
  const auto objects = case_objects("workloads.yaml");
  const auto jobs = workload::queued_jobs(objects);
  const auto place = [&](const char* ns, const char* job) {
    const auto* found = workload::find_queued(jobs, ns, job);
    REQUIRE_MESSAGE(found, job);
    return describe_place(*found, jobs);
  };
  CHECK(place("anna", "first") ==
        "1st of 3 in the queue gpuadm-user-anna; needs 4 GPUs, 2 are free; anna/runs has 2 since 2026-11-30 "
        "19:01 UTC");
  CHECK(place("anna", "second") ==
        "3rd of 3 in the queue gpuadm-user-anna; needs 1 GPU; anna/runs has 2 since 2026-11-30 19:01 UTC");
  CHECK(place("anna", "urgent-by-eviction") ==
        "2nd of 3 in the queue gpuadm-user-anna; needs 2 GPUs; anna/runs has 2 since 2026-11-30 19:01 UTC; "
        "stopped before: Preempted to accommodate a "
        "workload");
  CHECK(place("default", "large") ==
        "1st of 1 in the queue gpuadm; needs 8 GPUs: couldn't assign flavors to pod set main: insufficient "
        "quota for "
        "nvidia.com/gpu in flavor gpuadm-gpu, previously considered podsets requests (0) + current podset "
        "request (8) "
        "> maximum capacity (4)");
  CHECK(workload::find_queued(jobs, "anna", "runs")->phase == workload::QueuedJob::Phase::admitted);
  CHECK(workload::find_queued(jobs, "anna", "done")->phase == workload::QueuedJob::Phase::finished);
  CHECK(workload::find_queued(jobs, "anna", "none") == nullptr);
}
