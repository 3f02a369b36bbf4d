#include "commands/undo/running_workloads.hpp"

#include <doctest/doctest.h>

namespace {

using RunningLines = std::vector<std::string>;

transport::Completion shown_by(const char* host, int status, const char* out, const char* err = "") {
  transport::Exit exit;
  exit.status = status;
  exit.out = out;
  exit.err = err;
  return {host, exit};
}

const char* const list_without_pods = "\npods\n{\"items\":[]}\n";
const char* const slow_server =
    "Error from server (Timeout): the server was unable to return a response in time";

bool strands(const commands::RunningWorkloads& running) {
  const auto refused = commands::refuse_to_strand(running, false);
  CHECK(commands::refuse_to_strand(running, true));
  if (!refused) CHECK(refused.error().fault == base::Fault::blocked);
  return !refused;
}

}  // namespace

TEST_CASE("workloads that cannot be read are not ended without --force") {
  // The API server lists nodes, and not pods in time.
  const std::vector plane = {shown_by("cp", 124, "node cp\nplane cp\nplane cp2\npods\n", slow_server)};
  for (const RunningLines& leaving : {RunningLines{}, RunningLines{"gpu1"}}) {
    const auto running = commands::judge_workloads(plane, leaving);
    CHECK(running.unread == RunningLines{std::string("cp: ") + slow_server});
    CHECK(strands(running));
    const auto refused = commands::refuse_to_strand(running, false);
    CHECK(refused.error().what.find("cp: Error from server (Timeout)") != std::string::npos);
    CHECK(refused.error().hint.find("--force") != std::string::npos);
  }
  // A worker whose control planes stay, a lost connection, and more pods than are read.
  const std::vector worker = {shown_by("gpu1", 1, "node gpu1\npods\n", "connection refused")};
  CHECK(strands(commands::judge_workloads(worker, {})));
  const std::vector<transport::Completion> lost = {{"cp", base::fail(base::Fault::unreachable, "cp: lost")}};
  CHECK(commands::judge_workloads(lost, {}).unread == RunningLines{"cp: lost"});
  std::vector cut = {shown_by("cp", 0, "node cp\nplane cp\npods\n{")};
  cut[0].result->dropped = 1;
  CHECK(commands::judge_workloads(cut, {}).unread == RunningLines{"cp: its list of pods is too long"});
}

TEST_CASE("a cluster whose API server does not answer can be reset as a whole") {
  const auto silent = shown_by("cp", 1, "node cp\nsilent\n", "connection refused");
  const auto worker = shown_by("gpu1", 1, "node gpu1\npods\n", "connection refused");
  const auto whole = commands::judge_workloads(std::vector{worker, silent}, {});
  CHECK(whole.unread.empty());
  CHECK(whole.silent == RunningLines{"cp: connection refused", "gpu1: connection refused"});
  CHECK_FALSE(strands(whole));
  // It lists no pods of nodes that are removed from it either.
  CHECK(strands(commands::judge_workloads(std::vector{silent}, {"gpu1"})));
}

TEST_CASE("a control plane that leaves lists the workloads of workers that cannot") {
  const auto worker = shown_by("gpu1", 1, "node gpu1\npods\n", "connection refused");
  const std::string pod =
      R"({"items":[{"kind":"Pod","metadata":{"name":"anna-0","namespace":"default","labels":{)"
      R"("gpuadm.io/kind":"notebook","gpuadm.io/name":"anna"}},"spec":{"nodeName":"gpu1"},)"
      R"("status":{"phase":"Running"}}]})";
  const std::string listed = "node cp2\nplane cp\nplane cp2\npods\n" + pod;
  const auto some = commands::judge_workloads(std::vector{shown_by("cp2", 0, listed.c_str()), worker}, {});
  CHECK(some.unread.empty());
  CHECK(some.lines.size() == 1);
  CHECK(strands(some));
  const std::string none = std::string("node cp\nplane cp") + list_without_pods;
  const auto not_a_node = shown_by("other", 3, "");
  CHECK_FALSE(strands(
      commands::judge_workloads(std::vector{shown_by("cp", 0, none.c_str()), worker, not_a_node}, {})));
}

TEST_CASE("pods with GPUs that are not of a workload are named, too") {
  const std::string others =
      "gpus\tteam/mine\tgpu1\t\"Running\"\tcpu=4 nvidia.com/gpu=2 \n"
      "gpus\tteam/mig\tgpu1\t\"Pending\"\tnvidia.com/mig-1g.18gb=1 \n"
      "gpus\tteam/claims\tgpu1\t\"Running\"\tclaim=1 \n"
      "gpus\tteam/waits\t\t\"Pending\"\tnvidia.com/gpu=1 \n"
      "gpus\tteam/elsewhere\tgpu2\t\"Running\"\tnvidia.com/gpu=1 \n"
      "gpus\tteam/none\tgpu1\t\"Running\"\tcpu=1 \ngpus\tjunk\n";
  const std::string listed = "node cp\nplane cp\n" + others + "pods\n{\"items\":[]}\n";
  const std::vector plane = {shown_by("cp", 0, listed.c_str())};
  CHECK(commands::judge_workloads(plane, {"gpu1"}).lines ==
        RunningLines{"pod team/mine (2 GPUs on gpu1)", "pod team/mig (1 GPU on gpu1)",
                     "pod team/claims (devices by claims on gpu1)"});
  // With the only control plane, all of them end.
  const auto whole = commands::judge_workloads(plane, {});
  CHECK(whole.lines.size() == 5);
  CHECK(strands(whole));
  CHECK(commands::refuse_to_strand(whole, false).error().what.contains("pod team/waits (1 GPU)"));
}
