#include "gpuadm/base/files.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/all_reduce.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace {

namespace fs = std::filesystem;
using base::Tree;
using workload::TrainJob;

TrainJob job_with(int ranks, const std::string& gpus) {
  TrainJob job;
  job.name = "mnist";
  workload::Role role;
  role.replicas = ranks;
  role.gpus = *workload::parse_gpus("--gpus", gpus);
  role.pod = workload::pod_of({.image = "team/train:1",
                               .command = {"torchrun", "x.py"},
                               .environment = {{"NCCL_DEBUG", "INFO"}},
                               .memory = "8Gi",
                               .volumes = {{"data", "/data"}}});
  job.roles.push_back(std::move(role));
  return job;
}

std::string verdict_of(const fs::path& folder) {
  const auto document = base::yaml::read(*base::read_file(folder / "case.yaml"), "case.yaml");
  REQUIRE(document);
  TrainJob job =
      job_with(static_cast<int>(document->find("ranks")->as_int().value_or(1)), text_at(*document, {"gpus"}));
  if (text_at(*document, {"framework"}) == "mpi") job.framework = workload::Framework::mpi;
  if (document->find("rdma"))
    job.roles.front().pod =
        *base::yaml::read("containers: [{ name: main, resources: { limits: { rdma/hca: 1 } } }]", "pod.yaml");
  if (document->find("pack")) job.placement = workload::Placement::anywhere;
  const workload::AllReduce read = workload::read_all_reduce(*base::read_file(folder / "log.txt"));
  if (!read.has_torch) return "no PyTorch: " + read.why_no_torch + "\n";
  std::optional<workload::LinkSpeed> speed;
  if (const Tree* link = document->find("link"))
    speed = {text_at(*link, {"host"}), text_at(*link, {"name"}),
             static_cast<int>(link->find("megabits")->as_int().value_or(0))};
  const Tree* timed_out = document->find("timedOut");
  std::string shown;
  for (const report::Finding& finding : workload::judge_all_reduce(
           {.job = job,
            .read = read,
            .ended = text_at(*document, {"ended"}),
            .timed_out = timed_out ? static_cast<int>(timed_out->as_int().value_or(0)) : 0,
            .speed = speed})) {
    shown += fmt::format("{} {} {}: {}\n", finding.id, report::name_of(finding.verdict),
                         report::name_of(finding.severity), finding.message);
    if (!finding.evidence.empty()) shown += "  seen: " + finding.evidence + "\n";
    if (!finding.remedy.empty()) shown += "  fix: " + finding.remedy + "\n";
  }
  return shown;
}

}  // namespace

TEST_CASE("what the ranks of an all-reduce print becomes findings, and damaged lines are skipped") {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(GPUADM_TESTS_DIR "/cases/all-reduce"))
    folders.push_back(entry.path());
  std::ranges::sort(folders);
  REQUIRE(folders.size() >= 19);
  for (const fs::path& folder : folders) {
    CAPTURE(folder.filename().string());
    const std::string shown = verdict_of(folder);
    if (std::getenv("GPUADM_REWRITE_CASES")) REQUIRE(base::write_file(folder / "expected.txt", shown, 0644));
    const auto wanted = base::read_file(folder / "expected.txt");
    REQUIRE(wanted);
    CHECK(shown == *wanted);
  }
}

TEST_CASE("an all-reduce has the pods of the job, without its command, claims and init containers") {
  TrainJob job = job_with(2, "2");
  job.checkpoints = "/data/checkpoints/mnist";
  job.framework = workload::Framework::mpi;
  job.roles.front().pod.set("initContainers", Tree(Tree::List{Tree::map_of({{"name", "download"}})}));
  job.roles.front().pod["containers"].push(Tree::map_of({{"name", "sidecar"}}));
  const auto test = workload::all_reduce_job(job, {"start", "program"}, 300, 450);
  REQUIRE(test);
  CHECK(test->name == "mnist-check");
  CHECK(test->framework == workload::Framework::plain);
  CHECK(test->checkpoints.empty());
  CHECK(test->timeout == 450);
  CHECK(test->processes == 2);
  REQUIRE(test->source.size() == 2);
  CHECK(test->source[1].content == "program");
  const Tree& pod = test->roles.front().pod;
  CHECK(!pod.find("volumes"));
  CHECK(!pod.find("initContainers"));
  REQUIRE(pod.find("containers")->items().size() == 1);
  const Tree& container = pod.find("containers")->items().front();
  CHECK(!container.find("volumeMounts"));
  CHECK(*container.find("command") == Tree::list_of({"/bin/sh", "all-reduce.sh"}));
  CHECK(container.at({"resources", "limits", "memory"})->text() == "8Gi");
  std::string variables;
  for (const Tree& one : container.find("env")->items())
    variables += text_at(one, {"name"}) + "=" + text_at(one, {"value"}) + " ";
  CHECK(variables == "NCCL_DEBUG=INFO GPUADM_LOCAL=2 GPUADM_GPUS=2 GPUADM_MEET=300 ");
}

TEST_CASE("an all-reduce tries the Pythons of the job's command first, if they are given by their paths") {
  const auto command_of = [](const std::vector<std::string>& command) {
    TrainJob job = job_with(2, "1");
    Tree words = Tree::list();
    for (const std::string& word : command) words.push(Tree(word));
    job.roles.front().pod["containers"].items().front().set("command", std::move(words));
    const auto test = workload::all_reduce_job(job, {"start", "program"}, 300, 450);
    REQUIRE(test);
    return *test->roles.front().pod.find("containers")->items().front().find("command");
  };
  CHECK(command_of({"/opt/torch/bin/python3.12", "-m", "torch.distributed.run", "/workspace/x.py"}) ==
        Tree::list_of({"/bin/sh", "all-reduce.sh", "/opt/torch/bin/python3.12"}));
  CHECK(command_of({"env", "A=b", "/opt/conda/bin/torchrun", "x.py"}) ==
        Tree::list_of({"/bin/sh", "all-reduce.sh", "/opt/conda/bin/python3"}));
  CHECK(command_of({"python3", "/usr/share/pythonista", "/data/python3-notes"}) ==
        Tree::list_of({"/bin/sh", "all-reduce.sh"}));
}

TEST_CASE("a job of one process has nothing to reduce, and roles without GPUs are left out") {
  CHECK(!workload::all_reduce_job(job_with(1, "1"), {}, 1, 1));
  CHECK(workload::all_reduce_job(job_with(1, "2"), {}, 1, 1));
  CHECK(!workload::all_reduce_job(job_with(1, "1g.10gb:2"), {}, 1, 1));
  TrainJob job = job_with(2, "1");
  job.roles.insert(job.roles.begin(), job_with(1, "0").roles.front());
  const auto test = workload::all_reduce_job(job, {}, 1, 1);
  REQUIRE(test);
  CHECK(test->ranks() == 2);
}

TEST_CASE("the name of an all-reduce is not longer than that of a job may be") {
  TrainJob job = job_with(2, "0");
  job.name = std::string(43, 'a') + "-bcdef";
  const auto test = workload::all_reduce_job(job, {}, 1, 1);
  REQUIRE(test);
  CHECK(test->name == std::string(43, 'a') + "-check");
  CHECK(workload::check_name("training job", test->name));
}
