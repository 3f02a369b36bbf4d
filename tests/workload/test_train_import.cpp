#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/train_import.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace {

namespace fs = std::filesystem;

workload::TrainContext context_for(const workload::TrainJob& job) {
  workload::TrainContext context;
  context.form = workload::form_of(job, base::Version{1, 36, 2});
  context.supply.runtime_class = "nvidia";
  context.scripts = {"# a comment\nrank script\n", "mpi script\n"};
  context.addresses = {{job.name, "10.96.0.7"}};
  if (job.framework == workload::Framework::mpi) context.keys = workload::MpiKeys{"a", "b", "c", "d"};
  return context;
}

/// Problems, or notes and objects.
std::string outcome_of(const fs::path& manifest) {
  const auto text = base::read_file(manifest);
  REQUIRE(text);
  const auto documents = base::yaml::read_all(*text, "manifest.yaml", base::yaml::Dialect::kubernetes);
  REQUIRE(documents);
  const auto import = workload::import_train(*documents, "manifest.yaml");
  if (!import) return "error: " + import.error().what + "\n";
  std::string shown;
  for (const std::string& problem : import->problems) shown += "problem: " + problem + "\n";
  for (const std::string& note : import->notes) shown += "note: " + note + "\n";
  if (!import->problems.empty()) return shown;
  const auto objects = workload::objects_of(import->job, context_for(import->job));
  if (!objects) return shown + "error: " + objects.error().what + "\n";
  for (const auto* list : {&objects->services, &objects->others})
    for (const base::Tree& object : *list) shown += "---\n" + base::yaml::write(object);
  return shown;
}

}  // namespace

TEST_CASE("a manifest of another system becomes Jobs, or each field that is not possible is named") {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(GPUADM_TESTS_DIR "/cases/train"))
    folders.push_back(entry.path());
  std::ranges::sort(folders);
  REQUIRE(folders.size() >= 9);
  for (const fs::path& folder : folders) {
    CAPTURE(folder.filename().string());
    const std::string shown = outcome_of(folder / "manifest.yaml");
    if (std::getenv("GPUADM_REWRITE_CASES")) REQUIRE(base::write_file(folder / "expected.txt", shown, 0644));
    const auto wanted = base::read_file(folder / "expected.txt");
    REQUIRE(wanted);
    CHECK(shown == *wanted);
  }
}

TEST_CASE("another kind of manifest is refused with the kinds that can be imported") {
  const auto document = base::yaml::read("apiVersion: apps/v1\nkind: DaemonSet\n", "d.yaml");
  REQUIRE(document);
  const auto import = workload::import_train({*document}, "d.yaml");
  REQUIRE(!import);
  CHECK(import.error().what == "d.yaml: not a training job: kind DaemonSet, apiVersion apps/v1");
  CHECK(import.error().hint.find("PyTorchJob") != std::string::npos);
}

TEST_CASE("the mode of a file in a manifest is the same in the preview and in what is sent") {
  const auto document = base::yaml::read(
      "apiVersion: batch/v1\nkind: Job\nmetadata: { name: mnist }\nspec:\n  completions: 1\n  parallelism: "
      "1\n"
      "  template:\n    spec:\n      restartPolicy: Never\n      containers: [{ name: a, image: b, command: "
      "[c] }]\n"
      "      volumes:\n        - { name: key, secret: { secretName: key, defaultMode: 0400 } }\n"
      "        - { name: files, configMap: { name: files, items: [{ key: a, path: a, mode: 0755 }] } }\n",
      "job.yaml", base::yaml::Dialect::kubernetes);
  REQUIRE_MESSAGE(document, document.error().what);
  const auto import = workload::import_train({*document}, "job.yaml");
  REQUIRE_MESSAGE(import, import.error().what);
  REQUIRE_MESSAGE(import->problems.empty(), import->problems.front());
  const auto objects = workload::objects_of(import->job, context_for(import->job));
  REQUIRE(objects);
  std::string shown, sent;
  for (const base::Tree& object : objects->others) {
    shown += base::yaml::write(object);
    sent += base::json::write(object, 0);
  }
  CHECK(shown.find("defaultMode: 256") != std::string::npos);
  CHECK(sent.find("\"defaultMode\":256") != std::string::npos);
  CHECK(shown.find("mode: 493") != std::string::npos);
  CHECK(sent.find("\"mode\":493") != std::string::npos);
}
