#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include "case_text.hpp"
#include "commands/inspect/dashboard/frozen_page.hpp"
#include "commands/inspect/dashboard/page_data.hpp"

namespace {

constexpr const char* evil = "</script><script>alert(1)</script>\x1b[31m";

commands::PageFiles page_files() {
  return {case_text("templates/dashboard/page.html"), case_text("templates/dashboard/dashboard.css"),
          case_text("templates/dashboard/dashboard.js")};
}

}  // namespace

TEST_CASE(
    "in a frozen page no text of a host begins or ends an element, and the policy allows its own script "
    "only") {
  const std::string json = base::json::write(base::Tree::map_of({{"why", evil}}), 0);
  const auto page = commands::frozen_page(page_files(), json, json);
  REQUIRE(page);
  CHECK(page->find("alert(1)") != std::string::npos);
  CHECK(page->find(evil) == std::string::npos);
  CHECK(page->find("<script>alert") == std::string::npos);
  CHECK(page->find("\"\\u003c/script>") != std::string::npos);
  CHECK(page->find("script-src 'sha256-") != std::string::npos);
  for (const char* loads : {"src=", "http:", "https:", "@import", "url("})
    if (std::string_view(loads) != "http:") CHECK_MESSAGE(page->find(loads) == std::string::npos, loads);
  // Three scripts: two texts of data, and the program.
  std::size_t scripts = 0;
  for (std::size_t at = page->find("<script"); at != std::string::npos; at = page->find("<script", at + 1))
    ++scripts;
  CHECK(scripts == 3);
}

TEST_CASE("a page without its script cannot be frozen, and the error names the element") {
  commands::PageFiles files = page_files();
  files.page = base::replace_all(files.page, "dashboard.js", "other.js");
  const auto page = commands::frozen_page(files, "{}", "{}");
  REQUIRE(!page);
  CHECK(page.error().what.find("<script src=\"dashboard.js\"></script>") != std::string::npos);
}

TEST_CASE(
    "the page's data: hosts in the order of the cluster file, printable, and judged when something was "
    "read") {
  const auto assets = assets::Store::open("");
  REQUIRE(assets);
  spec::Cluster cluster;
  cluster.name = "lab";
  for (const char* name : {"gpu2", "gpu1"}) {
    spec::Host host;
    host.name = name;
    cluster.hosts.push_back(host);
  }
  auto readings = session::ClusterReadings::open(cluster, *assets, {{"pods"}, "gpuadm.io/name"});
  REQUIRE(readings);
  commands::StatusJudge judges(*assets, {});
  commands::PageData data(*readings, judges, 2);
  session::GpuSamples samples;
  samples.hosts["gpu1"].sample.emplace();
  samples.hosts["gpu1"].sample->gpus.emplace_back();
  samples.hosts["gpu1"].sample->gpus.front().model = evil;
  samples.hosts["gpu2"].problem = evil;
  samples.hosts["gpu2"].silent_seconds = 12;
  samples.hosts["gpu2"].error = base::Error{base::Fault::unreachable, "gpu2: connection refused", "ssh gpu2"};
  REQUIRE(data.show(samples, session::SampleMoment::complete));
  const auto live = base::json::read(data.live(), "live");
  REQUIRE(live);
  const auto& hosts = live->find("hosts")->items();
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[0].find("host")->text() == "gpu2");
  CHECK(hosts[0].find("state")->text() == "not answering");
  CHECK(hosts[0].find("why")->text().find('\x1b') == std::string::npos);
  CHECK(hosts[1].find("state")->text() == "answering");
  CHECK(live->find("gpus")->items().front().find("model")->text().find("\\x1b") != std::string::npos);
  const auto judged = base::json::read(data.cluster(), "cluster");
  REQUIRE(judged);
  const auto& problems = judged->find("problems")->items();
  REQUIRE(problems.size() == 1);
  CHECK(problems.front().find("where")->text() == "gpu2");
  CHECK(problems.front().find("what")->text() == "connection refused");
  CHECK(problems.front().find("remedy")->text() == "ssh gpu2");
}

TEST_CASE(
    "the page's verdict counts hosts without readings, and a cluster that was not read has no zero "
    "problems") {
  const auto assets = assets::Store::open("");
  REQUIRE(assets);
  spec::Cluster cluster;
  for (const char* name : {"gpu1", "gpu2"}) {
    spec::Host host;
    host.name = name;
    cluster.hosts.push_back(host);
  }
  auto readings = session::ClusterReadings::open(cluster, *assets, {{"pods"}, "gpuadm.io/name"});
  REQUIRE(readings);
  commands::StatusJudge judges(*assets, {});
  commands::PageData data(*readings, judges, 2);
  session::GpuSamples samples;
  samples.hosts["gpu1"].sample.emplace();
  samples.hosts["gpu2"].problem = "nvidia-smi exits with status 9";
  samples.hosts["gpu2"].silent_seconds = 12;
  REQUIRE(data.show(samples, session::SampleMoment::complete));
  const auto live = base::json::read(data.live(), "live");
  REQUIRE(live);
  const base::Tree* verdict = live->find("verdict");
  REQUIRE(verdict);
  CHECK(verdict->find("health")->text() == "unknown");
  CHECK(verdict->find("unread")->items().size() >= 2);
}
