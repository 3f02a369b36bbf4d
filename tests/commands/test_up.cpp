#include "gpuadm/base/files.hpp"

#include "commands/install/up/stage_lines.hpp"
#include "commands/install/up/up.hpp"

#include <doctest/doctest.h>

#include <filesystem>

namespace {

struct Screen {
  std::string text;
  [[nodiscard]] report::Write write() {
    return [this](std::string_view part) { text += part; };
  }
};

std::string refusal(const commands::UpOptions& options) {
  const auto checked = commands::check_up(options);
  return checked ? std::string() : checked.error().what + "; " + checked.error().hint;
}

}  // namespace

TEST_CASE("up: a stage is one line with its time and that of the last run") {
  Screen screen;
  commands::StageLines lines(screen.write(), {}, 6);
  lines.begin("doctor", {}, 100);
  lines.progress("reading", 101);
  lines.end("nothing to fix", 103);
  lines.begin("init", 70.0, 103);
  lines.end("31 steps changed", 179);
  CHECK(
      screen.text ==
      "[1/6] doctor    nothing to fix (3.0s)\n[2/6] init      31 steps changed (1m 16s; last time 1m 10s)\n");
}

TEST_CASE("up: without a terminal, a long stage writes a line a minute") {
  Screen screen;
  commands::StageLines lines(screen.write(), {}, 6);
  lines.begin("init", {}, 0);
  lines.progress("kubeadm init", 59);
  CHECK(screen.text.empty());
  lines.progress("kubeadm init", 61);
  lines.progress("kubeadm init", 90);
  CHECK(screen.text == "[1/6] init      (1m 1s) kubeadm init\n");
}

TEST_CASE("up: on a terminal the line of the current stage is rewritten, and no wider than the terminal") {
  Screen screen;
  commands::StageLines lines(screen.write(), {.view = report::View::live, .width = 40}, 3);
  lines.begin("init", {}, 0);
  lines.progress(std::string(300, 'x') + "\nsecond line", 65);
  CHECK(screen.text.find("\r\x1b[K[1/3] init      (1m 5s) xxx") != std::string::npos);
  CHECK(screen.text.find("second") == std::string::npos);
  CHECK(screen.text.rfind('x') - screen.text.rfind('\r') <= 43);
  lines.end("done", 70);
  CHECK(screen.text.ends_with("\r\x1b[K[1/3] init      done (1m 10s)\n"));
}

TEST_CASE("up: times of stages are kept in a file, and a damaged file has none") {
  const auto folder = std::filesystem::temp_directory_path() / "gpuadm-test-up";
  std::filesystem::remove_all(folder);
  auto times = commands::StageTimes::read(folder / "up.json");
  CHECK(!times.of("init"));
  times.save("init", 76.25);
  CHECK(commands::StageTimes::read(folder / "up.json").of("init") == doctest::Approx(76.2).epsilon(0.01));
  REQUIRE(base::write_file(folder / "up.json", "{\"init\": \"1e99\", \"verify\": [1]"));
  CHECK(!commands::StageTimes::read(folder / "up.json").of("init"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("up: a notebook adds its stages, and options that need one are refused without it") {
  commands::UpOptions options;
  CHECK(up_stages(options).size() == 3);
  CHECK(refusal(options).empty());
  options.notebook.gpus = "2";
  CHECK(refusal(options) == "--gpus: no notebook is requested; add --notebook NAME");
  options.notebook.name = "anna";
  CHECK(refusal(options).empty());
  CHECK(up_stages(options).size() == 6);
  options.tunnel = false;
  CHECK(up_stages(options).size() == 5);
  options.port = 8888;
  CHECK(refusal(options).starts_with("--local-port: no tunnel is opened"));
  options.port = 0;
  options.notebook.name = "Anna!";
  CHECK(!refusal(options).empty());
  options.notebook.name = "anna";
  options.hosts.targets = {"a", "b"};
  CHECK(refusal(options).find("config init") != std::string::npos);
}
