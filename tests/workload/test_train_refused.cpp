#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/train.hpp"

#include <doctest/doctest.h>

namespace {

workload::TrainJob job_with_volumes(std::vector<workload::TrainVolume> volumes) {
  workload::TrainJob job;
  job.name = "mnist";
  workload::Role role;
  role.replicas = 2;
  role.pod = workload::pod_of({.image = "a:1", .command = {"x"}, .volumes = std::move(volumes)});
  job.roles.push_back(std::move(role));
  return job;
}

}  // namespace

TEST_CASE("every variable by which ranks find each other is set by gpuadm") {
  workload::TrainJob job = job_with_volumes({{"data", "/data"}});
  job.checkpoints = "/data/checkpoints/mnist";
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "PET_NNODES", "LOCAL_RANK",
                           "JOB_COMPLETION_INDEX", "GPUADM_CHECKPOINT_DIR", "GPUADM_SOURCE"})
    CHECK_MESSAGE(workload::is_set_by_gpuadm(job, name), name);
  for (const char* name : {"NCCL_DEBUG", "TF_CONFIG", "HYDRA_HOST_FILE", "OMPI_ALLOW_RUN_AS_ROOT", "PATH"})
    CHECK_MESSAGE(!workload::is_set_by_gpuadm(job, name), name);
  job.checkpoints.clear();
  CHECK(!workload::is_set_by_gpuadm(job, "GPUADM_CHECKPOINT_DIR"));
  job.framework = workload::Framework::tensorflow;
  CHECK(workload::is_set_by_gpuadm(job, "TF_CONFIG"));
  job.framework = workload::Framework::mpi;
  CHECK(!workload::is_set_by_gpuadm(job, "OMPI_ALLOW_RUN_AS_ROOT"));
  // Each variable that the script of an MPI job exports with a path of its own.
  const auto script = base::read_file(GPUADM_SOURCE_DIR "/playbooks/workload/mpi.sh");
  REQUIRE(script);
  std::size_t exported = 0;
  for (const std::string_view line : base::lines(*script)) {
    if (!base::trim(line).starts_with("export ") || line.find('=') == std::string_view::npos) continue;
    for (const std::string_view word : base::words(line)) {
      const std::size_t equals = word.find("=\"");
      if (equals == std::string_view::npos) continue;
      ++exported;
      CHECK_MESSAGE(workload::is_set_by_gpuadm(job, word.substr(0, equals)), word);
    }
  }
  CHECK(exported == 14);
}

TEST_CASE("two volumes at one directory of a rank are refused") {
  const auto problem = [](const workload::TrainJob& job) {
    const auto checked = workload::check_mounts(job);
    return checked ? "none" : checked.error().what;
  };
  CHECK(problem(job_with_volumes({{"d", "/data"}, {"d", "/data/d"}})) == "none");
  CHECK(problem(job_with_volumes({{"d", "/data"}, {"e", "/data/"}})) ==
        "the claim d and the claim e would both be mounted at /data");
  workload::TrainJob job = job_with_volumes({{"d", "/workspace"}, {"e", "/etc/gpuadm/ssh"}});
  CHECK(problem(job) == "none");
  job.framework = workload::Framework::mpi;
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK"})
    CHECK_MESSAGE(workload::is_set_by_gpuadm(job, name), name);
  CHECK(problem(job) == "the SSH keys of the job and the claim e would both be mounted at /etc/gpuadm/ssh");
  job.source = {{"x.py", "text"}};
  CHECK(problem(job) == "the files of --src and the claim d would both be mounted at /workspace");
}
