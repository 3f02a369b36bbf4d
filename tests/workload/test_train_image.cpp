#include "gpuadm/base/files.hpp"
#include "gpuadm/base/image_reference.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/checks/cuda.hpp"
#include "gpuadm/workload/train_image.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace {

namespace fs = std::filesystem;
using base::Tree;
using base::Version;

checks::CudaDrivers tables() {
  auto drivers = checks::CudaDrivers::read(
      [](std::string_view path) { return base::read_file(fs::path(GPUADM_SOURCE_DIR) / path); });
  REQUIRE(drivers);
  return std::move(*drivers);
}

std::optional<std::string> full_name_of(const std::string& written) {
  const auto parsed = base::parse_image_reference(written);
  return parsed ? std::optional(base::full_name(*parsed)) : std::nullopt;
}

workload::TrainJob job_from(const Tree& document) {
  workload::TrainJob job;
  job.name = "mnist";
  if (text_at(document, {"framework"}) == "mpi") job.framework = workload::Framework::mpi;
  workload::Role role;
  role.replicas = static_cast<int>(document.find("ranks")->as_int().value_or(1));
  const std::string gpus = text_at(document, {"gpus"});
  role.gpus = *workload::parse_gpus("--gpus", gpus.empty() ? "0" : gpus);
  role.pod = workload::pod_of({.image = text_at(document, {"image"}), .command = {"x"}});
  if (const std::string policy = text_at(document, {"policy"}); !policy.empty())
    role.pod["containers"].items().front().set("imagePullPolicy", policy);
  job.roles.push_back(std::move(role));
  return job;
}

std::string findings_of(const fs::path& folder) {
  const auto document = base::yaml::read(*base::read_file(folder / "case.yaml"), "case.yaml");
  REQUIRE(document);
  const workload::TrainJob job = job_from(*document);
  std::vector<facts::Node> nodes;
  std::vector<workload::NodeImages> read;
  for (const Tree& one : document->find("nodes")->items()) {
    facts::Node node;
    node.name = text_at(one, {"name"});
    node.labels["kubernetes.io/arch"] = text_at(one, {"arch"});
    if (const auto output = base::read_file(folder / (node.name + ".txt")))
      read.push_back(workload::read_node_images(node.name, *output));
    nodes.push_back(std::move(node));
  }
  std::vector<const facts::Node*> usable;
  for (const facts::Node& node : nodes) usable.push_back(&node);
  const checks::CudaDrivers drivers = tables();
  const workload::CudaLimits cuda{[&](const Version& version) { return drivers.lowest_driver(version); },
                                  [&](const Version& driver) { return drivers.cuda_of(driver); }};
  const auto images = workload::train_images(job, full_name_of);
  std::string shown;
  for (const report::Finding& finding : workload::examine_images(
           {.job = job, .nodes = usable, .read = read, .images = images, .cuda = cuda})) {
    shown += fmt::format("{} {} {} {}: {}\n", finding.host, finding.id, report::name_of(finding.verdict),
                         report::name_of(finding.severity), finding.message);
    if (!finding.evidence.empty()) shown += "  seen: " + finding.evidence + "\n";
    if (!finding.remedy.empty()) shown += "  fix: " + finding.remedy + "\n";
  }
  return shown;
}

}  // namespace

TEST_CASE("the images of a training job are compared with each node, and what was not read is unknown") {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(GPUADM_TESTS_DIR "/cases/train-image"))
    folders.push_back(entry.path());
  std::ranges::sort(folders);
  REQUIRE(folders.size() >= 25);
  for (const fs::path& folder : folders) {
    CAPTURE(folder.filename().string());
    const std::string shown = findings_of(folder);
    if (std::getenv("GPUADM_REWRITE_CASES")) REQUIRE(base::write_file(folder / "expected.txt", shown, 0644));
    const auto wanted = base::read_file(folder / "expected.txt");
    REQUIRE(wanted);
    CHECK(shown == *wanted);
  }
}

TEST_CASE("a CUDA version needs the lowest driver of its major version, before 11 that of its release") {
  const checks::CudaDrivers drivers = tables();
  CHECK(drivers.lowest_driver({12, 4, 1}) == "525.60.13");
  CHECK(drivers.lowest_driver({11, 8, -1}) == "450.80.02");
  CHECK(drivers.lowest_driver({9, 2, -1}) == "396.26");
  CHECK(drivers.lowest_driver({9, 2, 148}) == "396.37");
  CHECK(!drivers.lowest_driver({99, 0, -1}));
  CHECK(drivers.cuda_of({535, 104, 5}) == Version{12, 2, -1});
  CHECK(!drivers.cuda_of({300, 1, -1}));
  CHECK(drivers.is_newer_than_tables({9999, 1, -1}));
  CHECK(!drivers.is_newer_than_tables({550, 54, 14}));
}

TEST_CASE("arguments of a rank keep the entrypoint of its image if a node knows it") {
  workload::TrainJob job;
  job.framework = workload::Framework::mpi;
  workload::Role launcher;
  launcher.name = "launcher";
  launcher.pod = workload::pod_of({.image = "pi:1"});
  launcher.pod["containers"].items().front().set("args", base::Tree::list_of({"mpirun", "./pi"}));
  workload::Role worker = launcher;
  job.roles = {launcher, worker};
  const std::vector<workload::TrainImage> images = {{"pi:1", "docker.io/library/pi:1", "missing", false}};
  const auto command_of = [&](int role) {
    const base::Tree* command =
        job.roles[static_cast<std::size_t>(role)].pod.find("containers")->items().front().find("command");
    return command ? base::json::write(*command, 0) : "none";
  };
  const auto node = [](const char* config) {
    return workload::read_node_images(
        "one",
        fmt::format("image\tdocker.io/library/pi:1\tpresent\nconfig\tdocker.io/library/pi:1\t{}\n", config));
  };
  const auto unknown = workload::set_entrypoints(job, images, {node("{\"info\":{}}")});
  REQUIRE(!unknown);
  CHECK(unknown.error().what ==
        "the pod of launcher has no command, and no node knows an entrypoint of the image pi:1");
  REQUIRE(workload::set_entrypoints(
      job, images,
      {node("{\"info\":{\"imageSpec\":{\"config\":{\"Entrypoint\":[\"/entry.sh\",\"$(A)\"]}}}}")}));
  CHECK(command_of(0) == R"_(["/entry.sh","$$(A)"])_");
  // Workers start nothing.
  CHECK(command_of(1) == "none");
  // An image without an entrypoint starts the arguments.
  const auto plain = {node("{\"info\":{\"imageSpec\":{\"config\":{}}}}")};
  job.roles.front() = launcher;
  REQUIRE(workload::set_entrypoints(job, images, plain));
  CHECK(command_of(0) == R"_(["mpirun","./pi"])_");
  CHECK(!job.roles.front().pod.find("containers")->items().front().find("args"));
  launcher.pod["containers"].items().front().erase("args");
  job.roles.front() = launcher;
  const auto nothing = workload::set_entrypoints(job, images, plain);
  REQUIRE(!nothing);
  CHECK(nothing.error().what == "the pod of launcher has no command, and no entrypoint is in the image pi:1");
}
