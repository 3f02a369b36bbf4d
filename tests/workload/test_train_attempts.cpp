#include "gpuadm/base/files.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/all_reduce.hpp"
#include "gpuadm/workload/train_import.hpp"

#include "workload/train/train_rank.hpp"

#include <doctest/doctest.h>

namespace {

using base::Tree;
using workload::TrainState;

workload::TrainJob imported_job() {
  workload::TrainJob job;
  job.name = "digits";
  job.instance = "0123456789";
  workload::Role role;
  role.replicas = 2;
  role.pod = workload::pod_of({.image = "a:1", .command = {"torchrun", "x.py"}});
  job.roles.push_back(role);
  job.restarts = 2;
  return job;
}

Tree first_job(const workload::TrainJob& job) {
  const auto objects = workload::objects_of(job, {.form = workload::JobForm::one_per_rank});
  REQUIRE(objects);
  return objects->others.front();
}

Tree tree_of(std::string_view yaml) {
  const auto tree = base::yaml::read(yaml, "test");
  REQUIRE_MESSAGE(tree, tree.error().what);
  return *tree;
}

Tree job_of_rank(const std::string& name, const std::string& metadata, const std::string& status) {
  return tree_of("metadata: { name: " + name +
                 ", namespace: default, labels: { gpuadm.io/kind: train, gpuadm.io/name: r }" + metadata +
                 " }\nspec: { parallelism: 1 }\n" + status);
}

constexpr const char* complete = "status: { conditions: [{ type: Complete, status: \"True\" }] }";
constexpr const char* failed = "status: { conditions: [{ type: Failed, status: \"True\" }] }";
constexpr const char* follower = ", annotations: { gpuadm.io/ends-with-job: \"true\" }";

TrainState only_state(const std::vector<Tree>& jobs) {
  const auto states = workload::train_states(jobs, {});
  REQUIRE(states.size() == 1);
  return states.front();
}

}  // namespace

TEST_CASE(
    "a job from a manifest starts again as often as the manifest says, without a folder for checkpoints") {
  const Tree first = first_job(imported_job());
  CHECK(workload::restarts_left(first) == 2);
  const auto second = workload::repeated(first, 1);
  REQUIRE_MESSAGE(second, second.error().what);
  CHECK(workload::restarts_left(*second) == 1);
  CHECK(workload::attempt_of(*second) == 1);
  const auto third = workload::repeated(*second, 2);
  REQUIRE(third);
  CHECK(workload::restarts_left(*third) == 0);
  // train resume starts it anyway.
  CHECK(workload::repeated(*third, 3));
  workload::TrainJob of_the_command_line = imported_job();
  of_the_command_line.restarts.reset();
  CHECK(workload::restarts_left(first_job(of_the_command_line)) == 0);
  CHECK(!workload::repeated(first_job(of_the_command_line), 1));
}

TEST_CASE("a job with a parameter server has succeeded when its chief has, and fails with any of them") {
  const TrainState running = only_state({job_of_rank("r-0", "", ""), job_of_rank("r-1", follower, "")});
  CHECK(running.has_followers);
  CHECK(running.phase == TrainState::Phase::pending);
  CHECK(only_state({job_of_rank("r-0", "", complete), job_of_rank("r-1", follower, "")}).phase ==
        TrainState::Phase::succeeded);
  CHECK(only_state({job_of_rank("r-0", "", ""), job_of_rank("r-1", follower, complete)}).phase ==
        TrainState::Phase::pending);
  CHECK(only_state({job_of_rank("r-0", "", ""), job_of_rank("r-1", follower, failed)}).phase ==
        TrainState::Phase::failed);
  // What a follower does after the success is not the job's.
  const TrainState after =
      only_state({job_of_rank("r-0", "", complete), job_of_rank("r-1", follower, failed)});
  CHECK(after.phase == TrainState::Phase::succeeded);
  CHECK(after.why.empty());
  CHECK(!only_state({job_of_rank("r-0", "", complete)}).has_followers);
}

TEST_CASE("a sidecar needs a kubelet that ends it with the rank") {
  workload::TrainJob job = imported_job();
  CHECK(workload::check_sidecars(job, std::nullopt));
  job.sidecars = {"exporter"};
  CHECK(workload::check_sidecars(job, base::Version{1, 29, 0}));
  CHECK(workload::check_sidecars(job, base::Version{1, 36, 2}));
  CHECK(!workload::check_sidecars(job, std::nullopt));
  const auto old = workload::check_sidecars(job, base::Version{1, 28, 15});
  REQUIRE(!old);
  CHECK(old.error().what == "the container exporter runs next to the ranks, which needs Kubernetes 1.29");
}

TEST_CASE("a claim and a headless Service as kubectl prints them can be created again") {
  const auto text =
      base::read_file(GPUADM_TESTS_DIR "/cases/train-manifests/objects-as-kubectl-prints-them/manifest.yaml");
  REQUIRE(text);
  const auto documents = workload::read_manifests(*text, "manifest.yaml");
  REQUIRE(documents);
  const auto import = workload::import_train(*documents, "manifest.yaml");
  REQUIRE(import);
  const auto& objects = import->job.companions;
  REQUIRE(objects.size() == 3);
  CHECK(!objects[0].at({"spec", "volumeName"}));
  const base::Tree* annotations = objects[0].at({"metadata", "annotations"});
  REQUIRE(annotations);
  CHECK(annotations->entries().size() == 1);
  CHECK(annotations->find("team"));
  REQUIRE(objects[1].at({"spec", "clusterIP"}));
  CHECK(objects[1].at({"spec", "clusterIP"})->text() == "None");
  CHECK(!objects[2].at({"spec", "clusterIP"}));
}

TEST_CASE("an image that is pulled with a Secret of the file is not tested before the job") {
  workload::TrainJob job;
  job.roles.emplace_back();
  job.roles.front().pod =
      Tree::map_of({{"imagePullSecrets", Tree(Tree::List{Tree::map_of({{"name", "registry"}})})}});
  CHECK(!workload::pulls_with_companion(job));
  job.companions.push_back(
      Tree::map_of({{"kind", "ConfigMap"}, {"metadata", Tree::map_of({{"name", "registry"}})}}));
  CHECK(!workload::pulls_with_companion(job));
  job.companions.front().set("kind", "Secret");
  CHECK(workload::pulls_with_companion(job));
}

TEST_CASE("the exit code of a rank is not that of a sidecar which is ended with it") {
  const auto container = [](const char* name, int code) {
    return Tree::map_of(
        {{"name", name}, {"state", Tree::map_of({{"terminated", Tree::map_of({{"exitCode", code}})}})}});
  };
  const Tree pod = Tree::map_of(
      {{"metadata", Tree::map_of({{"name", "r-0"}})},
       {"spec", Tree::map_of({{"initContainers", Tree(Tree::List{Tree::map_of(
                                                     {{"name", "exporter"}, {"restartPolicy", "Always"}})})},
                              {"containers", Tree(Tree::List{Tree::map_of({{"name", "main"}})})}})},
       {"status", Tree::map_of({{"phase", "Failed"},
                                {"initContainerStatuses", Tree(Tree::List{container("exporter", 137)})},
                                {"containerStatuses", Tree(Tree::List{container("main", 1)})}})}});
  CHECK(workload::rank_state_of(pod, 0).exit_code == 1);
}

TEST_CASE("objects of the same file are created in the namespace of the job, with its labels and their own") {
  workload::TrainJob job = imported_job();
  job.ns = "vision";
  job.companions = {tree_of(
      "apiVersion: v1\nkind: Secret\nmetadata: { name: token, labels: { app: a } }\nstringData: { a: b }\n")};
  const auto objects = workload::objects_of(job, {});
  REQUIRE(objects);
  REQUIRE(objects->companions.size() == 1);
  const Tree& secret = objects->companions.front();
  CHECK(base::text_at(secret, {"metadata", "namespace"}) == "vision");
  CHECK(base::text_at(secret, {"metadata", "labels", "app"}) == "a");
  CHECK(base::text_at(secret, {"metadata", "labels", "gpuadm.io/name"}) == "digits");
  CHECK(base::text_at(secret, {"metadata", "labels", "gpuadm.io/instance"}) == "0123456789");
}
