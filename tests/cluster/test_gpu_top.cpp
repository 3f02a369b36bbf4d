#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/gpu_history.hpp"
#include "gpuadm/cluster/gpu_top.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

using cluster::GpuHistory;
using cluster::TopFrame;
using cluster::TopGpu;
using cluster::TopHost;
using cluster::TopSort;

namespace {

std::string text_of(const std::filesystem::path& path) {
  return base::read_file(path).value_or("");
}

/// With GPUADM_REWRITE_CASES, the file is rewritten.
std::string expected(const std::filesystem::path& path, const std::string& seen) {
  if (std::getenv("GPUADM_REWRITE_CASES")) REQUIRE(base::write_file(path, seen, 0644));
  return text_of(path);
}

TopFrame frame_of(const std::filesystem::path& folder) {
  TopFrame frame{"2026-11-26T10:00:00.000Z", 2, {}, {}};
  const auto names = facts::parse_pod_names(text_of(folder / "pods.txt"));
  const auto sample = facts::parse_gpu_sample(text_of(folder / "output.txt"));
  REQUIRE(sample);
  const bool silent = !sample->failure.empty();
  add(frame, {"gpu1", &*sample, silent ? std::optional(12.0) : std::nullopt, sample->failure}, names.pods);
  return frame;
}

TopGpu gpu(const std::string& host, int index, std::optional<double> utilization) {
  TopGpu gpu;
  gpu.host = host;
  gpu.reading.index = index;
  gpu.reading.uuid = host + std::to_string(index);
  gpu.reading.utilization = utilization;
  gpu.programs_read = true;
  return gpu;
}

TopFrame at(const std::string& time, std::vector<TopGpu> gpus) {
  return {time, 2, std::move(gpus), {}};
}

std::string time_of(int seconds) {
  return fmt::format("2026-11-26T{:02}:{:02}:{:02}.000Z", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace

TEST_CASE("a host's output becomes the frame, the JSON and the text of its case") {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(GPUADM_TESTS_DIR) / "cases/gpu-top")) {
    CAPTURE(entry.path().string());
    const TopFrame frame = frame_of(entry.path());
    const std::string line = to_json_line(frame);
    const auto tree = base::json::read(line, "line");
    REQUIRE(tree);
    const std::string json = base::json::write(*tree) + "\n";
    CHECK(json == expected(entry.path() / "expected.json", json));
    const std::string text = to_text(frame, 0) + "\n80 columns:\n" + to_text(frame, 80);
    CHECK(text == expected(entry.path() / "expected.txt", text));
    const auto again = cluster::frame_of_json(line, "line");
    REQUIRE(again);
    CHECK(to_json_line(*again) == line);
  }
}

TEST_CASE("GPUs are sorted by host and index, or by a value with unknown ones last") {
  TopFrame frame =
      at(time_of(0), {gpu("b", 1, 5), gpu("b", 0, std::nullopt), gpu("a", 10, 90), gpu("a", 2, 0)});
  const auto order = [&](TopSort by) {
    sort(frame, by);
    std::string names;
    for (const TopGpu& top : frame.gpus) names += top.reading.uuid + " ";
    return names;
  };
  CHECK(order(TopSort::node) == "a2 a10 b0 b1 ");
  CHECK(order(TopSort::utilization) == "a10 b1 a2 b0 ");
}

TEST_CASE("every line fits the terminal, down to 40 columns, and names the GPU") {
  TopFrame frame = frame_of(std::filesystem::path(GPUADM_TESTS_DIR) / "cases/gpu-top/pods");
  frame.hosts.push_back({"gpu2", TopHost::State::silent, 12.4, std::string(300, 'x')});
  for (const std::size_t width : {40, 60, 80, 100, 120, 200}) {
    CAPTURE(width);
    const std::string text = to_text(frame, width);
    std::size_t lines = 0;
    for (const std::string_view line : base::lines(text)) {
      if (lines++ > 0) CHECK(line.size() <= width);
    }
    CHECK(lines == 5);
    CHECK(text.find("gpu1  0") != std::string::npos);
    CHECK(text.find("gpu2: not answering for 12s") != std::string::npos);
  }
}

TEST_CASE("names of hosts, pods and programs cannot control the terminal") {
  TopFrame frame = at(time_of(0), {gpu("a\x1b[2J", 0, 1)});
  frame.gpus.front().programs.push_back({.pid = 1,
                                         .name = "x\x1b]0;y\a",
                                         .used_mib = 1,
                                         .pod = "",
                                         .kind = "",
                                         .workload = "",
                                         .container = ""});
  frame.hosts.push_back({"b", TopHost::State::failed, 1, "\x1b[31m\nsecond"});
  CHECK(to_text(frame, 0).find('\x1b') == std::string::npos);
  CHECK(to_text(frame, 80).find('\x1b') == std::string::npos);
}

TEST_CASE("a line that is not a frame is refused with its place") {
  for (const char* line : {"", "{}", "[]", "{\"time\":\"x\"}", "{\"time\":1,\"gpus\":[]}", "{\"gpus\":{}}"}) {
    const auto frame = cluster::frame_of_json(line, "day.jsonl:3");
    REQUIRE(!frame);
    CHECK(frame.error().what.find("day.jsonl:3") != std::string::npos);
  }
}

TEST_CASE("a history has a point for each interval, and a gap where nothing was read") {
  GpuHistory history;
  history.add(at(time_of(0), {gpu("a", 0, 10)}));
  history.add(at(time_of(2), {gpu("a", 0, std::nullopt)}));
  history.add(at(time_of(6), {gpu("a", 0, 30)}));
  const auto page = history.page();
  REQUIRE(page.gpus.size() == 1);
  const auto& line = page.gpus[0].lines[0];
  REQUIRE(line.mean.size() == 4);
  CHECK(line.mean[0] == 10);
  CHECK(std::isnan(line.mean[1]));
  CHECK(std::isnan(line.mean[2]));
  CHECK(line.mean[3] == 30);
}

TEST_CASE("a long history has bounded points, which keep the mean and the maximum") {
  GpuHistory history;
  for (int i = 0; i < 5000; ++i) history.add(at(time_of(i * 2), {gpu("a", 0, i % 2 == 0 ? 0 : 100)}));
  const auto page = history.page();
  const auto& line = page.gpus.at(0).lines[0];
  CHECK(line.mean.size() <= GpuHistory::most_points);
  CHECK(line.mean.size() > GpuHistory::most_points / 2);
  CHECK(line.mean[7] == doctest::Approx(50));
  CHECK(line.most[7] == 100);
}

TEST_CASE("the page is complete in itself and escapes what hosts report") {
  GpuHistory history;
  TopGpu top = gpu("<b>", 0, 50);
  top.reading.model = "\"><script>alert(1)</script>";
  top.reading.clock_reasons = 4;
  top.programs.push_back(
      {.pid = 7, .name = "a", .used_mib = 2048, .pod = "n/<i>", .kind = "", .workload = "", .container = ""});
  TopFrame frame = at(time_of(0), {top});
  frame.hosts.push_back({"gone", TopHost::State::silent, 5, "<x>"});
  history.add(frame);
  history.add(at(time_of(2), {top}));
  const std::string html = report::to_html(history.page());
  for (const char* text :
       {"<script", "http:", "https:", "<b>,", "<i>", "<x>", "src=", "url(", "@import", "nan", "inf"})
    CHECK(html.find(text) == std::string::npos);
  CHECK(html.find("sw_power_cap") != std::string::npos);
  CHECK(html.find("gone had no readings") != std::string::npos);
  CHECK(html.find("2.0 GiB") != std::string::npos);
}
