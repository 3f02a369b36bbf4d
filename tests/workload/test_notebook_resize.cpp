#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/notebook.hpp"

#include <doctest/doctest.h>

namespace {

using base::Tree;

Tree tree(const char* text) {
  return *base::yaml::read(text, "text");
}

Tree deployment_of(const workload::NotebookRequest& request, const workload::GpuParts& parts = {}) {
  workload::Notebook notebook = *workload::make_notebook(request);
  if (notebook.shm.empty()) notebook.shm = "1Gi";
  const auto objects = workload::objects_of(notebook, parts, base::Secret("TOKEN"));
  return objects.back();
}

workload::NotebookRequest full() {
  return {.name = "anna",
          .ns = "team",
          .gpus = "2",
          .image = "registry.lan/notebook:1",
          .storage = "files",
          .mount = "/work",
          .cpus = "4",
          .memory = "8Gi",
          .shm = "2Gi",
          .stop_idle = "2h"};
}

}  // namespace

TEST_CASE("what was requested for a notebook is read from its Deployment") {
  const auto request = workload::request_of(deployment_of(full()));
  CHECK(request.name == "anna");
  CHECK(request.ns == "team");
  CHECK(request.gpus == "2");
  CHECK(request.image == "registry.lan/notebook:1");
  CHECK(request.storage == "files");
  CHECK(request.mount == "/work");
  CHECK(request.cpus == "4");
  CHECK(request.memory == "8Gi");
  CHECK(request.shm == "2Gi");
  CHECK(request.stop_idle == "2h");
  CHECK(request.size.empty());

  const auto least = workload::request_of(deployment_of({.name = "b", .image = "a:1"}));
  CHECK(least.gpus == "0");
  CHECK(least.cpus.empty());
  CHECK(least.memory.empty());
  CHECK(least.storage.empty());
  CHECK(workload::request_of(tree("{}")).gpus == "0");
  CHECK(workload::request_of(tree("{spec: {template: {spec: {containers: []}}}}")).image.empty());
}

TEST_CASE("a notebook of another size keeps everything else that its Deployment has") {
  const workload::GpuParts two{.limits = tree("{nvidia.com/gpu: 2}"), .runtime_class = "nvidia"},
      half{.limits = tree("{nvidia.com/gpu.shared: 1}"), .node_selector = tree("{disk: fast}")};
  Tree live = deployment_of(full(), two);
  live["metadata"]["annotations"].set("team/cost", "7");
  Tree& pod = live["spec"]["template"]["spec"];
  pod.set("nodeSelector", tree("{rack: a}"));
  pod["containers"].items().front()["env"].push(tree("{name: MINE, value: yes}"));
  pod["containers"].items().front()["resources"]["limits"].set("ephemeral-storage", "5Gi");
  pod["containers"].items().insert(pod["containers"].items().begin(), tree("{name: sidecar, image: s:1}"));

  workload::NotebookRequest wanted = full();
  wanted.memory = "16Gi";
  wanted.shm = "8Gi";
  const Tree larger = workload::resized(live, deployment_of(wanted, two));
  CHECK(larger.at({"spec", "template", "spec"})->find("nodeSelector")->find("rack")->text() == "a");
  const auto now = workload::request_of(larger);
  CHECK(now.memory == "16Gi");
  CHECK(now.shm == "8Gi");
  CHECK(now.gpus == "2");
  const Tree& changed = larger.at({"spec", "template", "spec", "containers"})->items().back();
  CHECK(changed.at({"resources", "limits", "ephemeral-storage"})->text() == "5Gi");
  CHECK(changed.at({"resources", "limits", "nvidia.com/gpu"})->text() == "2");
  CHECK(changed.find("env")->items().back().find("name")->text() == "MINE");

  wanted.gpus = "1/2";
  wanted.cpus.clear();
  const Tree other = workload::resized(live, deployment_of(wanted, half));
  const Tree& spec = *other.at({"spec", "template", "spec"});
  CHECK(spec.find("runtimeClassName") == nullptr);
  CHECK(spec.at({"nodeSelector", "disk"})->text() == "fast");
  CHECK(spec.at({"nodeSelector", "rack"}) == nullptr);
  const Tree& limits = *spec.find("containers")->items().back().at({"resources", "limits"});
  CHECK(limits.find("nvidia.com/gpu") == nullptr);
  CHECK(limits.find("cpu") == nullptr);
  CHECK(limits.find("nvidia.com/gpu.shared")->text() == "1");
  CHECK(other.at({"metadata", "annotations", "team/cost"})->text() == "7");
  CHECK(workload::request_of(other).gpus == "1/2");
}
