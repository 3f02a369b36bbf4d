#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/gpu_board.hpp"
#include "gpuadm/cluster/gpu_chain.hpp"

#include "case_text.hpp"

#include <fmt/format.h>

#include <cstdlib>

using cluster::GpuBoard;

namespace {

std::string board_of(const std::filesystem::path& frames) {
  GpuBoard board;
  std::string text = case_text(frames);
  for (const std::string_view line : base::lines(text)) {
    const auto frame = cluster::frame_of_json(line, frames.string());
    REQUIRE(frame);
    board.add(*frame);
  }
  return base::json::write(base::Tree::map_of(
             {{"gpus", board.gpus()}, {"plots", board.plots()}, {"silent", board.silent()}})) +
         "\n";
}

cluster::TopFrame frame_at(int seconds, std::vector<std::string> hosts) {
  cluster::TopFrame frame{
      fmt::format("2026-11-26T10:{:02}:{:02}.000Z", seconds / 60, seconds % 60), 1, {}, {}};
  for (const std::string& host : hosts) {
    cluster::TopGpu gpu;
    gpu.host = host;
    gpu.reading.uuid = "GPU-" + host;
    gpu.reading.utilization = seconds % 100;
    frame.gpus.push_back(gpu);
  }
  return frame;
}

}  // namespace

TEST_CASE("the GPUs of the dashboard: cases") {
  int cases = 0;
  for (const auto& folder : std::filesystem::directory_iterator("tests/cases/dashboard")) {
    if (!std::filesystem::exists(folder.path() / "frames.jsonl")) continue;
    ++cases;
    CAPTURE(folder.path().string());
    const std::string board = board_of(folder.path() / "frames.jsonl");
    if (std::getenv("GPUADM_REWRITE_CASES"))
      REQUIRE(base::write_file(folder.path() / "board.json", board, 0644));
    CHECK(board == case_text(folder.path() / "board.json"));
  }
  CHECK(cases == 3);
}

TEST_CASE("a plot keeps the last samples, and a host that goes away leaves a gap and its old values") {
  GpuBoard board;
  const int all = static_cast<int>(GpuBoard::most_points) + 10;
  for (int i = 0; i < all; ++i)
    board.add(frame_at(
        i, i == all - 1 ? std::vector<std::string>{"gpu1"} : std::vector<std::string>{"gpu1", "gpu2"}));
  const base::Tree gpus = board.gpus();
  REQUIRE(gpus.items().size() == 2);
  const std::string plot = gpus.items()[1].at({"plots", "utilization"})->text();
  const auto points = base::split(plot, ' ');
  CHECK(points.size() == GpuBoard::most_points);
  CHECK(points.front() == "10");
  CHECK(points.back() == "-");
  CHECK(points[points.size() - 2] == std::to_string((all - 2) % 100));
  CHECK(gpus.items()[0].find("old")->text().empty());
  CHECK(gpus.items()[1].find("old")->text() == "nvidia-smi does not list it any more");
  CHECK(board.plots().find("from")->text() == "2026-11-26T10:00:10.000Z");
  // The longest values of a plot fit into a text of the page, which is cut at 4096 bytes.
  CHECK(GpuBoard::most_points * 8 < 4096);
}

TEST_CASE("GPUs over the limit have no plot") {
  GpuBoard board;
  std::vector<std::string> hosts;
  for (std::size_t i = 0; i < GpuBoard::most_plots + 3; ++i) hosts.push_back(fmt::format("host{:04}", i));
  board.add(frame_at(0, hosts));
  CHECK(board.gpus().items().size() == GpuBoard::most_plots + 3);
  CHECK(board.gpus().items().back().find("plots")->entries().empty());
  CHECK(board.plots().find("omitted")->as_int() == 3);
}

TEST_CASE("a chain ends at its first broken link, and without the nodes of the cluster after nvml") {
  spec::Cluster cluster;
  facts::Facts host;
  host.machine.hostname = "gpu1";
  host.nvidia.pci_gpus.push_back({"0000:01:00.0", "2330", "10de:16c1", "0302", "nvidia"});
  facts::Census census;
  census.emplace("gpu1", host);
  auto chains = cluster::gpu_chains(cluster, census, std::nullopt, {});
  REQUIRE(chains.size() == 1);
  CHECK(chains.front().links.size() == 1);
  base::Tree tree = cluster::to_tree(chains).items().front();
  CHECK(tree.at({"links", "driver", "state"})->text() == "broken");
  CHECK(tree.at({"links", "nvml", "state"})->text() == "not reached");
  CHECK(tree.at({"first", "link"})->text() == "driver");
  CHECK(tree.at({"first", "message"})->text() == "no NVIDIA driver is loaded");

  host.nvidia.driver.emplace();
  host.nvidia.driver->version = "570.158.01";
  host.nvidia.gpus.push_back({});
  host.nvidia.gpus.front().name = "NVIDIA H100";
  census.insert_or_assign("gpu1", host);
  chains = cluster::gpu_chains(cluster, census, std::nullopt, {});
  tree = cluster::to_tree(chains).items().front();
  CHECK(tree.at({"links", "nvml", "state"})->text() == "ok");
  CHECK(tree.at({"links", "cdi", "state"})->text() == "not reached");
  CHECK(tree.find("first")->is_null());
}

TEST_CASE("a host without nvidia-smi that goes away does not answer, and is not only without nvidia-smi") {
  facts::GpuSample sample;
  sample.has_smi = false;
  cluster::TopFrame frame{"2026-11-26T10:00:30.000Z", 2, {}, {}};
  cluster::add(frame, {"cp1", &sample, std::nullopt, ""}, {});
  cluster::add(frame, {"cp2", &sample, 20.0, "cp2: connection refused"}, {});
  GpuBoard board;
  board.refresh(frame);
  const base::Tree silent = board.silent();
  CHECK(silent.at({"cp1", "state"})->text() == "no nvidia-smi");
  CHECK(silent.at({"cp2", "state"})->text() == "not answering");
  CHECK(silent.at({"cp2", "since"})->text() == "2026-11-26T10:00:10.000Z");
  CHECK(silent.at({"cp2", "why"})->text() == "cp2: connection refused");
}
