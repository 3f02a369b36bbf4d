#include "gpuadm/base/json.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/train_check.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

using base::Tree;
using workload::JobForm;
using workload::RankState;
using workload::TrainState;

workload::TrainJob two_ranks() {
  workload::TrainJob job;
  job.name = "mnist";
  workload::Role role;
  role.replicas = 2;
  role.pod =
      workload::pod_of({.image = "a:1", .command = {"torchrun", "x.py"}, .volumes = {{"data", "/data"}}});
  job.roles.push_back(role);
  job.checkpoints = "/data/checkpoints/mnist";
  return job;
}

std::string variable(const Tree& object, std::string_view name) {
  const Tree* list = object.at({"spec", "template", "spec", "containers"})->items().front().find("env");
  for (const Tree& one : list->items())
    if (one.find("name")->text() == name && one.find("value")) return one.find("value")->text();
  return "";
}

Tree read(std::string_view yaml) {
  const auto tree = base::yaml::read(yaml, "test");
  REQUIRE(tree);
  return *tree;
}

Tree job_object(const std::string& more) {
  return read(R"(
metadata: { name: mnist, namespace: default, labels: { gpuadm.io/kind: train, gpuadm.io/name: mnist } }
spec:
  completions: 2
  parallelism: 2
)" + more);
}

Tree pod_object(int rank, const std::string& status) {
  return read(R"(
metadata:
  name: pod-)" +
              std::to_string(rank) + R"(
  namespace: default
  labels: { gpuadm.io/kind: train, gpuadm.io/name: mnist }
  annotations: { batch.kubernetes.io/job-completion-index: ")" +
              std::to_string(rank) + R"(" }
spec: { nodeName: gpu1, containers: [{ name: rank }] }
)" + status);
}

TrainState state_of(const std::vector<Tree>& jobs, const std::vector<Tree>& pods) {
  const auto states = workload::train_states(jobs, pods);
  REQUIRE(states.size() == 1);
  return states.front();
}

}  // namespace

TEST_CASE("one Indexed Job needs Kubernetes 1.28, one kind of pod, and a command") {
  workload::TrainJob job = two_ranks();
  CHECK(workload::form_of(job, base::Version{1, 28, 0}) == JobForm::indexed);
  CHECK(workload::form_of(job, base::Version{1, 27, 9}) == JobForm::one_per_rank);
  CHECK(workload::form_of(job, std::nullopt) == JobForm::one_per_rank);
  job.roles.front().pod["containers"].items().front().erase("command");
  CHECK(workload::form_of(job, base::Version{1, 36, 0}) == JobForm::one_per_rank);
}

TEST_CASE("with a Job for each rank, rank 0 has its own address and the others that of the Service") {
  workload::TrainContext context{.form = JobForm::one_per_rank, .addresses = {{"mnist", "10.96.0.7"}}};
  const auto objects = workload::objects_of(two_ranks(), context);
  REQUIRE(objects);
  REQUIRE(objects->services.size() == 1);
  CHECK(objects->services[0].at({"spec", "selector", "gpuadm.io/rank"})->text() == "0");
  REQUIRE(objects->others.size() == 2);
  CHECK(variable(objects->others[0], "MASTER_ADDR") == "$(GPUADM_POD_IP)");
  CHECK(variable(objects->others[1], "MASTER_ADDR") == "10.96.0.7");
  CHECK(variable(objects->others[1], "RANK") == "1");
  CHECK(variable(objects->others[1], "PET_NNODES") == "2");
  CHECK(objects->others[1].at({"metadata", "name"})->text() == "mnist-1");
}

TEST_CASE("Kubernetes does not expand the command and the variables of the command line") {
  const Tree pod = workload::pod_of(
      {.image = "a", .command = {"sh", "-c", "echo $$ $(RANK)"}, .environment = {{"A", "$(date)"}}});
  const Tree& container = pod.find("containers")->items().front();
  CHECK(container.find("command")->items().back().text() == "echo $$$ $$(RANK)");
  CHECK(container.find("env")->items().front().find("value")->text() == "$$(date)");
}

TEST_CASE("ranks with shares of GPUs are scheduled to nodes with as many shares") {
  workload::TrainJob job = two_ranks();
  job.roles.front().gpus = *workload::parse_gpus("--gpus", "1/4");
  const auto objects = workload::objects_of(job, {.form = JobForm::indexed});
  REQUIRE(objects);
  const Tree* label =
      objects->others.back().at({"spec", "template", "spec", "nodeSelector", "nvidia.com/gpu.replicas"});
  REQUIRE(label);
  CHECK(label->text() == "4");
}

TEST_CASE("an MPI job with --src copies the files on every rank before it starts sshd") {
  workload::TrainJob job = two_ranks();
  job.framework = workload::Framework::mpi;
  job.source = {{"x.py", "text"}};
  workload::TrainContext context{.form = JobForm::indexed};
  context.scripts = {"rank script", "mpi script"};
  const auto objects = workload::objects_of(job, context);
  REQUIRE(objects);
  const Tree& container =
      objects->others.back().at({"spec", "template", "spec", "containers"})->items().front();
  std::string command;
  for (const Tree& word : container.find("command")->items()) command += word.text() + "|";
  CHECK(command == "/bin/sh|-c|rank script\n|gpuadm|/bin/sh|-c|mpi script\n|gpuadm|torchrun|x.py|");
  CHECK(container.find("workingDir")->text() == "/workspace");
  CHECK(variable(objects->others.back(), "GPUADM_SOURCE") == "/etc/gpuadm/source");
}

TEST_CASE("all objects of a job and its pods have the label of its run, and Services select without it") {
  workload::TrainJob job = two_ranks();
  job.framework = workload::Framework::mpi;
  job.source = {{"x.py", "text"}};
  job.instance = "0123456789";
  workload::TrainContext context{.form = JobForm::one_per_rank, .addresses = {{"mnist", "10.96.0.7"}}};
  context.keys = workload::MpiKeys{"client", "public", "host", "public"};
  const auto objects = workload::objects_of(job, context);
  REQUIRE(objects);
  std::vector<Tree> all = objects->services;
  all.insert(all.end(), objects->others.begin(), objects->others.end());
  REQUIRE(all.size() >= 5);
  for (const Tree& object : all) {
    REQUIRE(object.at({"metadata", "labels", "gpuadm.io/instance"}));
    CHECK(object.at({"metadata", "labels", "gpuadm.io/instance"})->text() == "0123456789");
    CHECK(!object.at({"spec", "selector", "gpuadm.io/instance"}));
    if (const Tree* pods = object.at({"spec", "template"}))
      CHECK(pods->at({"metadata", "labels", "gpuadm.io/instance"}));
  }
}

TEST_CASE("a launcher without GPUs does not hide those of the workers") {
  const auto with = [](const std::string& resources) {
    return job_object("  template: { spec: { containers: [{ name: rank, resources: " + resources +
                      " }] } }\n");
  };
  const Tree none = with("{}"), two = with("{ limits: { nvidia.com/gpu: 2 } }"),
             claim = with("{ claims: [{ name: gpus }] }");
  CHECK(state_of({none, none}, {}).gpus.empty());
  CHECK(state_of({two, two}, {}).gpus == "2 nvidia.com/gpu");
  CHECK(state_of({none, two, two}, {}).gpus == "none or 2 nvidia.com/gpu");
  CHECK_FALSE(state_of({none, two}, {}).has_claims);
  // `train stop` deletes their claim templates.
  CHECK(state_of({none, claim}, {}).has_claims);
  CHECK(state_of({none, claim}, {}).gpus == "none or by claim");
}

TEST_CASE("a job is repeated without what Kubernetes has added to it, for its next attempt") {
  workload::TrainContext context{.form = JobForm::indexed};
  const auto objects = workload::objects_of(two_ranks(), context);
  REQUIRE(objects);
  Tree job = objects->others.back();
  job["metadata"].set("uid", "1");
  job["spec"].set("selector", Tree::map());
  job["spec"].set("parallelism", 0);
  job["spec"]["template"]["metadata"]["labels"].set("controller-uid", "1");
  const auto again = workload::repeated(job, 3);
  REQUIRE(again);
  CHECK(workload::attempt_of(*again) == 3);
  CHECK(again->at({"spec", "parallelism"})->as_int() == 2);
  CHECK(!again->at({"metadata", "uid"}));
  CHECK(!again->at({"spec", "selector"}));
  CHECK(!again->at({"spec", "template", "metadata", "labels", "controller-uid"}));
  workload::TrainJob without = two_ranks();
  without.checkpoints.clear();
  CHECK(!workload::repeated(workload::objects_of(without, context)->others.back(), 1));
}

TEST_CASE("the state of a job is that of its ranks, and the first failed one is named") {
  const Tree running = pod_object(0, "status: { phase: Running }");
  Tree pending = pod_object(1,
                            "status: { phase: Pending, conditions: [{ type: PodScheduled, status: \"False\", "
                            "reason: Unschedulable, message: 0/2 nodes }] }");
  pending["spec"].set("nodeName", "");
  TrainState state = state_of({job_object("")}, {running, pending});
  CHECK(state.phase == TrainState::Phase::pending);
  REQUIRE(state.waiting());
  CHECK(state.waiting()->rank == 1);
  CHECK(state.states[1].why == "the scheduler finds no node for the pod: 0/2 nodes");
  const Tree killed = pod_object(
      1,
      "status: { phase: Failed, containerStatuses: [{ name: rank, state: { terminated: { exitCode: "
      "137, reason: OOMKilled } } }] }");
  state = state_of({job_object("")}, {running, killed});
  CHECK(state.phase == TrainState::Phase::failed);
  REQUIRE(state.failed());
  CHECK(state.failed()->why == "container rank was killed because node gpu1 ran out of memory");
  const Tree exited = pod_object(0,
                                 "status: { phase: Failed, containerStatuses: [{ name: rank, state: { "
                                 "terminated: { exitCode: 1 } } }] }");
  CHECK(state_of({job_object("")}, {exited, killed}).failed()->rank == 1);
  CHECK(state_of({job_object("")}, {exited}).failed()->rank == 0);
  state = state_of({job_object("")}, {running});
  CHECK(state.states[1].phase == RankState::Phase::missing);
  const Tree complete = job_object("status: { conditions: [{ type: Complete, status: \"True\" }] }");
  CHECK(state_of({complete}, {}).phase == TrainState::Phase::succeeded);
  const Tree late =
      job_object("status: { conditions: [{ type: Failed, status: \"True\", reason: DeadlineExceeded }] }");
  CHECK(state_of({late}, {}).why == "DeadlineExceeded");
  // Its pods are killed first.
  const Tree ending = job_object(
      "status: { conditions: [{ type: FailureTarget, status: \"True\", reason: DeadlineExceeded }] }");
  CHECK(state_of({ending}, {killed}).phase == TrainState::Phase::failed);
  CHECK(state_of({ending}, {killed}).why == "DeadlineExceeded");
  const Tree broken = job_object(
      "status: { conditions: [{ type: FailureTarget, status: \"True\", reason: BackoffLimitExceeded }] }");
  CHECK(state_of({broken}, {killed}).why.empty());
}

TEST_CASE("an image that does not exist cannot be waited for, one whose registry does not answer can") {
  const auto waiting = [](const std::string& message) {
    return pod_object(0,
                      "status: { phase: Pending, containerStatuses: [{ name: rank, state: { waiting: { "
                      "reason: ErrImagePull, "
                      "message: " +
                          message + " } } }] }");
  };
  CHECK(state_of({job_object("")}, {waiting("manifest unknown")}).states[0].hopeless);
  CHECK(!state_of({job_object("")}, {waiting("i/o timeout")}).states[0].hopeless);
}

TEST_CASE("a pending rank whose container has ended is about to fail, and is not deleted before") {
  const Tree ended = pod_object(0,
                                "status: { phase: Pending, containerStatuses: [{ name: rank, state: { "
                                "terminated: { exitCode: 128, reason: StartError, "
                                "message: 'exec: \"/no/such\": no such file or directory' } } }] }");
  CHECK(!state_of({job_object("")}, {ended}).states[0].hopeless);
}

TEST_CASE("a rank on a node that does not report is unreachable") {
  const Tree lost = pod_object(0,
                               "status: { phase: Running, conditions: [{ type: Ready, status: \"False\" }], "
                               "containerStatuses: [{ name: rank, ready: true, state: { running: {} } }] }");
  CHECK(state_of({job_object("")}, {lost}).states[0].unreachable);
}

TEST_CASE("each check of a training job finds its fault") {
  const workload::TrainJob job = two_ranks();
  facts::ClusterFacts cluster;
  cluster.clock = *base::parse_time("2026-11-26T12:00:00Z");
  facts::Node one, two;
  one.name = "gpu1";
  two.name = "gpu2";
  for (facts::Node* node : {&one, &two}) {
    node->conditions["Ready"] = {"True", ""};
    node->allocatable = {{"cpu", "8"}, {"memory", "16Gi"}, {"rdma/hca", "2"}};
  }
  cluster.nodes = {one, two};
  cluster.pods = std::vector<facts::Pod>();
  workload::GpuSupply supply;
  const Tree claim = read("metadata: { name: data }\nspec: { accessModes: [ReadWriteMany] }\n");
  const auto lease = [](const std::string& node, const std::string& time) {
    return read("metadata: { name: " + node + " }\nspec: { renewTime: \"2026-11-26T" + time +
                ".000000Z\" }\n");
  };
  workload::TrainCheckInputs in{.job = job, .cluster = cluster, .supply = supply};
  in.existing = std::vector<TrainState>();
  in.claims = {claim};
  in.leases = {lease("gpu1", "11:59:55"), lease("gpu2", "11:59:58")};
  const auto open = [&] {
    std::string ids;
    for (const report::Finding& finding : workload::examine_train(in))
      if (report::is_open(finding))
        ids += finding.id + (finding.host.empty() ? " " : "@" + finding.host + " ");
    return ids;
  };
  CHECK(open() == "train.rdma ");
  in.existing = std::vector<TrainState>{{.name = "mnist", .ns = "default"}};
  CHECK(open() == "train.name train.rdma ");
  in.existing = std::nullopt;
  CHECK(open() == "train.name train.rdma ");
  in.existing = std::vector<TrainState>();
  in.claims = std::vector<Tree>();
  CHECK(open() == "train.volume train.rdma ");
  in.claims = {read("metadata: { name: data }\nspec: { accessModes: [ReadWriteOnce] }\n")};
  CHECK(open() == "train.volume train.rdma ");
  in.claims = {claim};
  in.leases = {lease("gpu1", "12:00:09"), lease("gpu2", "11:58:00")};
  CHECK(open() == "train.rdma train.clock-skew@gpu1 train.clock-skew@gpu2 ");
  // Leases are read after the clock, by which a slow host does not seem to be ahead.
  in.read_seconds = 10;
  CHECK(open() == "train.rdma train.clock-skew@gpu2 ");
  in.leases = {lease("gpu1", "11:59:55"), lease("gpu2", "11:59:58")};
  in.image_problem = "invalid";
  CHECK(open() == "train.image train.rdma ");
  in.image_problem.clear();
  cluster.nodes->back().unschedulable = true;
  CHECK(open() == "train.nodes train.rdma ");
  const auto why = [&] {
    const auto found = workload::examine_train(in);
    const auto finding = std::ranges::find(found, "train.nodes", &report::Finding::id);
    return finding == found.end() ? "" : finding->evidence.text();
  };
  CHECK(why() == cluster.nodes->back().name + ": cordoned");
  cluster.nodes->back().unschedulable = false;
  cluster.nodes->back().taints = {{"node.kubernetes.io/disk-pressure", "", "NoSchedule"}};
  CHECK(why() == cluster.nodes->back().name + ": taint node.kubernetes.io/disk-pressure");
  // A node that has just become Ready; every pod tolerates it.
  cluster.nodes->back().taints = {{"node.kubernetes.io/not-ready", "", "NoExecute"}};
  CHECK(why().empty());
  cluster.nodes->back().taints.clear();
  workload::TrainJob large = two_ranks();
  large.roles.front().pod = workload::pod_of({.image = "a:1",
                                              .command = {"x"},
                                              .cpus = "64",
                                              .memory = "1Gi",
                                              .shm = "2Gi",
                                              .resources = {{"rdma/hca", "1"}}});
  large.roles.front().gpus = *workload::parse_gpus("--gpus", "2");
  workload::TrainCheckInputs other{.job = large, .cluster = cluster, .supply = supply};
  other.existing = std::vector<TrainState>();
  other.leases = in.leases;
  std::string ids;
  for (const report::Finding& finding : workload::examine_train(other))
    if (report::is_open(finding)) ids += finding.id + " ";
  CHECK(ids == "train.gpus-free train.resources train.shm ");
}

TEST_CASE("GPUs that others hold are waited for, and those that no node has are not") {
  workload::TrainJob job = two_ranks();
  job.placement = workload::Placement::one_per_node;
  job.roles.front().gpus = *workload::parse_gpus("--gpus", "2");
  const auto offer = [](const char* node, long long all, long long free) {
    workload::GpuOffer one;
    one.node = node, one.resource = "nvidia.com/gpu", one.all = all, one.free = free;
    if (free < all) one.holders = {"default/ben-0"};
    return one;
  };
  workload::GpuSupply supply;
  supply.offers = {offer("gpu1", 2, 2), offer("gpu2", 2, 0)};
  CHECK(workload::held_gpus(job, supply).find("default/ben-0") != std::string::npos);
  supply.offers[1].free = 2;
  CHECK(workload::held_gpus(job, supply).empty());
  supply.offers[1] = offer("gpu2", 1, 0);
  CHECK(workload::held_gpus(job, supply).empty());
  job.roles.front().gpus = {};
  CHECK(workload::held_gpus(job, supply).empty());
}

TEST_CASE("each check of a training job has a row, from which gpuadm explain knows it") {
  const workload::TrainJob job = two_ranks();
  facts::ClusterFacts cluster;
  cluster.nodes = std::vector<facts::Node>();
  const workload::GpuSupply supply;
  for (const report::Finding& finding :
       workload::examine_train({.job = job, .cluster = cluster, .supply = supply}))
    CHECK_MESSAGE(std::ranges::count(workload::train_checks(), std::string_view(finding.id),
                                     &workload::TrainCheckRow::id) == 1,
                  finding.id);
}

TEST_CASE("ranks that must share a node are not connected by NVLink") {
  workload::TrainJob job = two_ranks();
  job.placement = workload::Placement::anywhere;
  facts::ClusterFacts cluster;
  facts::Node node;
  node.name = "gpu1";
  node.conditions["Ready"] = {"True", ""};
  cluster.nodes = {node};
  const workload::GpuSupply supply;
  const workload::TrainCheckInputs in{.job = job, .cluster = cluster, .supply = supply};
  const auto noted = [&](const char* gpus) {
    job.roles.front().gpus = *workload::parse_gpus("--gpus", gpus);
    const auto found = workload::examine_train(in);
    return std::ranges::count(found, "train.nvlink", &report::Finding::id) > 0;
  };
  CHECK(noted("1"));
  CHECK(!noted("1/2"));  // NCCL needs a GPU for each rank
  CHECK(!noted("0"));
  cluster.nodes->push_back(node);
  cluster.nodes->back().name = "gpu2";
  CHECK(!noted("1"));
  cluster.nodes->pop_back();
  job.placement = workload::Placement::one_per_node;
  CHECK(!noted("1"));
}
