#include "gpuadm/base/json.hpp"
#include "gpuadm/workload/state.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <ctime>

namespace {

using base::Tree;

std::vector<Tree> objects(std::string_view json) {
  const auto list = base::json::read(json, "test");
  REQUIRE(list);
  return list->items();
}

/// A pod of a workload on a node.
std::string pod(const std::string& kind, const std::string& name, const std::string& node, int gpus,
                const std::string& phase = "Running") {
  return fmt::format(
      R"({{"kind":"Pod","metadata":{{"name":"{1}-0","namespace":"default","creationTimestamp":"2026-08-22T10:00:00Z",
      "labels":{{"app.kubernetes.io/managed-by":"gpuadm","gpuadm.io/kind":"{0}","gpuadm.io/name":"{1}"}}}},
      "spec":{{"nodeName":"{2}","containers":[{{"name":"a","resources":{{"limits":{{"nvidia.com/gpu":"{3}"}}}}}}]}},
      "status":{{"phase":"{4}"}}}})",
      kind, name, node, gpus, phase);
}

std::string deployment(int replicas) {
  return fmt::format(
      R"({{"kind":"Deployment","metadata":{{"name":"anna","namespace":"default","creationTimestamp":"2026-08-22T10:00:00Z",
      "annotations":{{"gpuadm.io/gpus":"1/4"}},
      "labels":{{"app.kubernetes.io/managed-by":"gpuadm","gpuadm.io/kind":"notebook","gpuadm.io/name":"anna"}}}},
      "spec":{{"replicas":{},"template":{{"spec":{{"containers":[{{"image":"a:1"}}],
      "volumes":[{{"name":"files","persistentVolumeClaim":{{"claimName":"anna"}}}}]}}}}}}}})",
      replicas);
}

workload::HostWorkloads host(const std::string& node, std::vector<std::string> planes,
                             const std::string& pods) {
  return {node, std::move(planes), objects("[" + pods + "]")};
}

}  // namespace

TEST_CASE("a stopped notebook is listed with its GPUs and volume, and without a node") {
  const auto rows = workload::workload_rows(objects("[" + deployment(0) + "]"));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].state == "stopped");
  CHECK(rows[0].gpus == "1/4");
  CHECK(rows[0].volume == "anna");
  CHECK(rows[0].node.empty());
  CHECK_FALSE(rows[0].runs);
  const auto ending =
      workload::workload_rows(objects("[" + deployment(0) + "," + pod("notebook", "anna", "gpu1", 1) + "]"));
  CHECK(ending[0].state == "stopping");
}

TEST_CASE("workloads of one name and another kind are different rows") {
  const auto rows = workload::workload_rows(
      objects("[" + pod("train", "anna", "gpu1", 2) + "," + pod("notebook", "anna", "gpu2", 1) + "]"));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].kind == "notebook");
  CHECK(rows[1].gpus == "2");
}

TEST_CASE("a pod that is being deleted does not count next to its successor, and counts alone") {
  std::string leaving = pod("train", "anna", "gpu1", 2);
  leaving.replace(leaving.find("\"name\""), 0, "\"deletionTimestamp\":\"2026-08-22T10:00:00Z\",");
  const auto both =
      workload::workload_rows(objects("[" + leaving + "," + pod("train", "anna", "gpu2", 2) + "]"));
  REQUIRE(both.size() == 1);
  CHECK(both[0].gpus == "2");
  CHECK(both[0].node == "gpu2");
  const auto alone = workload::workload_rows(objects("[" + leaving + "]"));
  CHECK(alone[0].gpus == "2");
  CHECK(alone[0].node == "gpu1");
}

TEST_CASE("an object without labels, spec or containers is not a workload, and does no harm") {
  CHECK(workload::workload_rows(objects(R"([{"kind":"Pod"},{"kind":"Pod","metadata":{"labels":
    {"gpuadm.io/kind":"notebook","gpuadm.io/name":"a"}}},3,null])"))
            .empty());
}

TEST_CASE("ages have one unit") {
  workload::WorkloadRow row;
  CHECK(workload::age_of(row, base::now()).empty());
  const auto now = std::chrono::system_clock::from_time_t(1'000'000'000);
  for (const auto& [seconds, text] : {std::pair(5, "5s"), std::pair(90, "1m"), std::pair(7200, "2h"),
                                      std::pair(3 * 86400, "3d"), std::pair(-100, "0s")}) {
    row.created = 1'000'000'000.0 - seconds;
    CHECK(workload::age_of(row, now) == text);
  }
}

TEST_CASE("workloads on a node that leaves are stranded; all of them if all control planes leave") {
  const std::string pods = pod("notebook", "anna", "gpu1", 1) + "," + pod("train", "big", "gpu2", 4) + "," +
                           pod("train", "old", "gpu1", 1, "Succeeded");
  const std::vector hosts = {host("cp1", {"cp1"}, pods)};
  const std::vector<std::string> gpu1 = {"gpu1"}, cp1 = {"cp1"}, other = {"gpu3"};
  CHECK(workload::stranded(hosts, gpu1) == std::vector<std::string>{"notebook default/anna (1 GPU on gpu1)"});
  CHECK(workload::stranded(hosts, other).empty());
  CHECK(workload::stranded(hosts, cp1).size() == 2);
  const std::vector worker = {host("gpu1", {}, pod("notebook", "anna", "gpu1", 1))};
  CHECK(workload::stranded(worker, gpu1).size() == 1);
}

TEST_CASE("a served model is a workload: it has a row, and is stranded with its node") {
  const std::string served = pod("serve", "llama", "gpu1", 2);
  const auto rows = workload::workload_rows(objects("[" + served + "]"));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].kind == "serve");
  CHECK(rows[0].gpus == "2");
  CHECK(rows[0].runs);
  const std::vector hosts = {host("gpu1", {}, served)};
  const std::vector<std::string> leaving = {"gpu1"};
  CHECK(workload::stranded(hosts, leaving) ==
        std::vector<std::string>{"served model default/llama (2 GPUs on gpu1)"});
}

TEST_CASE("a host's report of workloads needs its list of pods") {
  const auto report = workload::parse_host_workloads("node gpu1\nplane gpu1\npods\n{\"items\":[]}\n", "gpu1");
  REQUIRE(report);
  CHECK(report->node == "gpu1");
  CHECK(report->planes == std::vector<std::string>{"gpu1"});
  for (const char* bad : {"", "node gpu1\n", "node gpu1\npods\n{", "node gpu1\npods\n{\"kind\":\"Status\"}"})
    CHECK_MESSAGE(!workload::parse_host_workloads(bad, "gpu1"), bad);
  CHECK_FALSE(workload::parse_host_workloads(std::string(1000, '\n'), "gpu1"));
}
