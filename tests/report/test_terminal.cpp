#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/reporters.hpp"

#include "report/expected.hpp"

#include <algorithm>

namespace {

using report::Did;
using report::Event;

std::vector<Event> run_of_two_hosts() {
  const auto at = base::Time{};
  return {
      {.at = at, .did = Did::started, .detail = "init lab: 2 hosts"},
      {.at = at, .stage = "os/swap", .did = Did::started, .detail = "Swap"},
      {.at = at,
       .host = "cp1",
       .stage = "os/swap",
       .step = "os.swap.keep",
       .did = Did::started,
       .detail = "Swap is kept"},
      {.at = at, .host = "cp1", .stage = "os/swap", .step = "os.swap.keep", .did = Did::satisfied},
      {.at = at, .host = "gpu1", .stage = "os/swap", .step = "os.swap.keep", .did = Did::satisfied},
      {.at = at, .stage = "os/modules", .did = Did::started, .detail = "Kernel modules"},
      {.at = at,
       .host = "cp1",
       .stage = "os/modules",
       .step = "os.modules",
       .did = Did::started,
       .detail = "Load br_netfilter and overlay"},
      {.at = at,
       .host = "gpu1",
       .stage = "os/modules",
       .step = "os.modules",
       .did = Did::started,
       .detail = "Load br_netfilter and overlay"},
      {.at = at,
       .host = "cp1",
       .stage = "os/modules",
       .step = "os.modules",
       .did = Did::applied,
       .seconds = 0.34},
      {.at = at,
       .host = "gpu1",
       .stage = "os/modules",
       .step = "os.modules",
       .did = Did::failed,
       .detail = "modprobe: FATAL: Module br_netfilter not found\nin directory /lib/modules/\x1b[31m6.1.0",
       .hint = "apt install linux-modules-extra, then run again"},
      {.at = at, .stage = "verify/cluster", .did = Did::started, .detail = "The node is Ready"},
      {.at = at,
       .host = "cp1",
       .stage = "verify/cluster",
       .step = "verify.ready",
       .did = Did::started,
       .detail = "Node Ready"},
      {.at = at,
       .host = "cp1",
       .stage = "verify/cluster",
       .step = "verify.ready",
       .did = Did::waiting,
       .detail = "NetworkNotReady"},
      {.at = at,
       .host = "cp1",
       .stage = "verify/cluster",
       .step = "verify.ready",
       .did = Did::waiting,
       .detail = "NetworkNotReady"},
      {.at = at,
       .host = "cp1",
       .stage = "verify/cluster",
       .step = "verify.ready",
       .did = Did::satisfied,
       .seconds = 12},
      {.at = at,
       .host = "cp1",
       .stage = "verify/cluster",
       .step = "verify.coredns",
       .did = Did::skipped,
       .detail = "the bundle has none"},
      {.at = at, .did = Did::finished},
  };
}

std::string shown(const std::vector<Event>& events, report::Style style) {
  std::string text;
  {
    const auto terminal = report::terminal([&](std::string_view more) { text += more; }, style);
    const auto fan_out = report::fan_out({terminal.get()});
    for (const Event& event : events) fan_out->on(event);
  }
  return text;
}

}  // namespace

TEST_CASE("a run in a pipe is whole lines without color") {
  const std::string text = shown(run_of_two_hosts(), {});
  CHECK(text == expected("run-plain.txt", text));
}

TEST_CASE("a verbose run names what was satisfied") {
  const std::string text = shown(run_of_two_hosts(), {.verbosity = report::Verbosity::verbose});
  CHECK(text == expected("run-verbose.txt", text));
}

TEST_CASE("a quiet run shows failures only") {
  const std::string text = shown(run_of_two_hosts(), {.verbosity = report::Verbosity::quiet});
  CHECK(text == expected("run-quiet.txt", text));
}

TEST_CASE("a live run keeps a changing line a host no wider than the terminal and takes it back") {
  const std::string text = visible(
      shown(run_of_two_hosts(), {.color = report::Color::yes, .view = report::View::live, .width = 40}));
  CHECK(text == expected("run-live.txt", text));
}

TEST_CASE("a changing line has the phase's number, the time of the run and of the step, and the wait") {
  std::string text;
  const auto terminal = report::terminal([&](std::string_view more) { text += more; },
                                         {.view = report::View::live, .width = 100});
  const base::Time begin{std::chrono::seconds(1'700'000'000)};
  terminal->on({.at = begin, .did = Did::started});
  terminal->on(
      {.at = begin, .stage = "kube/init", .did = Did::started, .detail = "I", .phase = 7, .phases = 20});
  terminal->on({.at = begin + std::chrono::seconds(60),
                .host = "cp1",
                .stage = "kube/init",
                .step = "s",
                .did = Did::started,
                .detail = "Wait for the node"});
  terminal->on({.at = begin + std::chrono::seconds(65),
                .host = "cp1",
                .stage = "kube/init",
                .step = "s",
                .did = Did::waiting,
                .detail = "NetworkNotReady"});
  text.clear();
  terminal->tick(begin + std::chrono::seconds(72));
  CHECK(visible(text) == "\\r\\e[J  cp1  phase 7 of 20, 1m 12s  Wait for the node (12s): NetworkNotReady\\r");
}

TEST_CASE("many busy hosts have eight lines, and the cursor returns to the first") {
  std::string text;
  const auto terminal = report::terminal([&](std::string_view more) { text += more; },
                                         {.view = report::View::live, .width = 80});
  for (int host = 0; host < 30; ++host)
    terminal->on({.host = fmt::format("gpu{}", host), .step = "s", .did = Did::started, .detail = "A"});
  const std::string last = text.substr(text.rfind("\x1b[J") + 3);
  CHECK(std::ranges::count(last, '\n') == 7);
  CHECK(last.find("  and 23 more hosts\r\x1b[7A") != std::string::npos);
}

std::vector<Event> preview_of_two_hosts() {
  std::vector<Event> events = {
      {.stage = "os/sysctl", .did = Did::started, .detail = "Set kernel parameters"}};
  for (const char* host : {"cp1", "gpu1"}) {
    events.push_back(
        {.host = host,
         .stage = "os/sysctl",
         .step = "a",
         .did = Did::needed,
         .diff = "--- /dev/null\n+++ /etc/sysctl.d/99-gpuadm.conf\n@@ -0,0 +1,2 @@\n+a = 1\n+b = 2\n"});
    events.push_back({.host = host, .stage = "os/sysctl", .step = "b", .did = Did::satisfied});
  }
  events.push_back(
      {.stage = "runtime/config", .did = Did::started, .detail = "Configure the container runtime"});
  events.push_back(
      {.host = "cp1",
       .stage = "runtime/config",
       .step = "c",
       .did = Did::needed,
       .diff =
           "--- /etc/containerd/config.toml\n+++ /etc/containerd/config.toml\n@@ -1 +1,2 @@\n-x\n+y\n+z\n"});
  events.push_back({.stage = "kube/labels", .did = Did::started, .detail = "Label the nodes"});
  events.push_back({.host = "cp1", .stage = "kube/labels", .step = "d", .did = Did::satisfied});
  events.push_back({.did = Did::note, .detail = "3 steps are needed on cp1, gpu1"});
  return events;
}

TEST_CASE("a plan on a terminal is a table of phases and files") {
  const std::string text = shown(preview_of_two_hosts(), {.view = report::View::live, .width = 80});
  CHECK(text == expected("plan-table.txt", text));
}

TEST_CASE("a plan in a pipe, or with the changes of files in full, has a line a step") {
  for (const report::Style& style :
       {report::Style{}, report::Style{.view = report::View::live, .diffs = report::Diffs::shown}}) {
    const std::string text = shown(preview_of_two_hosts(), style);
    CHECK(text.find("+b = 2") != std::string::npos);
    CHECK(text.find("PHASE") == std::string::npos);
  }
}

/// A preview of init with every phase of its playbook, on many hosts.
std::vector<Event> preview_of_init(int hosts) {
  const auto yaml = base::read_file(fmt::format("{}/../playbooks/init.yaml", GPUADM_TESTS_DIR));
  REQUIRE(yaml);
  std::vector<Event> events;
  for (const std::string_view line : base::lines(*yaml)) {
    const std::size_t at = line.find("phase: ");
    if (at == std::string_view::npos || line.find('/') == std::string_view::npos || line[0] == '#') continue;
    const std::string stage(line.substr(at + 7, line.find(',') - at - 7));
    events.push_back({.stage = stage, .did = Did::started, .detail = "Do what this phase does"});
    for (int host = 0; host < hosts; ++host)
      for (const char* begin : {"--- /dev/null\n", "--- /etc/old\n"})
        events.push_back({.host = fmt::format("gpu{}", host),
                          .stage = stage,
                          .step = stage + begin,
                          .did = Did::needed,
                          .diff = fmt::format("{}+++ /etc/{}/{}\n+a\n", begin, stage, host)});
  }
  REQUIRE(events.size() > 40);
  return events;
}

TEST_CASE(
    "a plan of all phases and many hosts leaves rows for what is before and after it on a screen of 24") {
  for (const int hosts : {1, 64}) {
    const std::string text = shown(preview_of_init(hosts), {.view = report::View::live, .width = 80});
    INFO(text);
    CHECK(base::lines(text).size() <= 14);
    for (const std::string_view line : base::lines(text)) CHECK(line.size() <= 80);
  }
}

TEST_CASE("a narrow terminal wraps the names of phases, and truncates none of them") {
  const auto events = preview_of_init(1);
  const std::string text = shown(events, {.view = report::View::live, .width = 40});
  INFO(text);
  for (const std::string_view line : base::lines(text)) CHECK(line.size() <= 40);
  CHECK(text.find("...") == std::string::npos);
  for (const Event& event : events)
    CHECK(text.find(event.stage.substr(event.stage.find('/') + 1)) != std::string::npos);
}

TEST_CASE("what a step would change in a file is shown as a diff") {
  const std::string text =
      shown({{.host = "cp1",
              .stage = "os/sysctl",
              .step = "os.sysctl",
              .did = Did::needed,
              .diff = "--- /etc/sysctl.d/99-gpuadm.conf\n+++ planned\n@@ -0,0 +1 @@\n+a = 1\n"}},
            {});
  CHECK(text == expected("run-preview.txt", text));
}

TEST_CASE("a host that says megabytes of escape sequences gets one harmless bounded line") {
  const std::string noise(3u << 20, '\x1b');
  const std::string text = shown({{.host = "cp1", .step = "x", .did = Did::failed, .detail = noise}}, {});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.size() < 20'000);
}

TEST_CASE("-vv shows what a step runs, once, and what hosts said, without secrets") {
  const auto done = [](const char* host) {
    return Event{.at = base::Time{},
                 .host = host,
                 .stage = "a",
                 .step = "a.b",
                 .did = Did::applied,
                 .detail = "B is there",
                 .output = "password=hunter2\nfine \x1b[31m",
                 .program = "test -e \"$path\"\ntouch \"$path\"\n"};
  };
  const std::vector<Event> run = {
      {.at = base::Time{}, .stage = "a", .did = Did::started, .detail = "A"}, done("cp1"), done("gpu1")};
  const std::string text = shown(run, {.verbosity = report::Verbosity::commands});
  const std::size_t first = text.find("$ touch \"$path\"\n");
  REQUIRE(first != std::string::npos);
  CHECK(text.find("$ touch", first + 1) == std::string::npos);
  CHECK(text.find("hunter2") == std::string::npos);
  CHECK(text.find("| password=***") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(shown(run, {.verbosity = report::Verbosity::verbose}).find("touch") == std::string::npos);
}

TEST_CASE(
    "a wait in a pipe is reported when it changes, at most every ten seconds, and once a minute when it does "
    "not") {
  std::vector<Event> events = {
      {.host = "gpu1", .step = "w", .did = Did::started, .detail = "the node to be Ready"}};
  for (int seconds = 5; seconds <= 80; seconds += 5)
    events.push_back({.host = "gpu1",
                      .step = "w",
                      .did = Did::waiting,
                      .detail = seconds < 20 ? "ContainerCreating" : "ImagePullBackOff",
                      .seconds = static_cast<double>(seconds)});
  CHECK(shown(events, {}) ==
        "  gpu1  waiting  the node to be Ready (10s): ContainerCreating\n"
        "  gpu1  waiting  the node to be Ready (20s): ImagePullBackOff\n"
        "  gpu1  waiting  the node to be Ready (1m 20s): ImagePullBackOff\n");
}
