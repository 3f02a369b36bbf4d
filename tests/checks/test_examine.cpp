#include "gpuadm/base/files.hpp"
#include "gpuadm/report/findings.hpp"

#include "checks/repository_data.hpp"
#include "facts/probe_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

facts::Facts machine(const std::string& name) {
  const std::string path = GPUADM_TESTS_DIR "/cases/facts/" + name + "/probe.txt";
  return facts::parse(base::read_file(path).value()).value();
}

std::vector<std::string> blockers(const std::string& name, const base::Version& kubernetes,
                                  spec::Engine engine, bool made_by_gpuadm = false) {
  auto cluster = spec::single("root@192.0.2.1").value();
  cluster.kubernetes.version = kubernetes;
  cluster.runtime.engine = engine;
  spec::Decisions decisions;
  decisions.without_dns = true;  // these hosts have no name server
  facts::Census census;
  facts::Facts facts = machine(name);
  facts.gpuadm_installed = made_by_gpuadm;
  census.emplace(cluster.hosts.front().name, std::move(facts));
  std::vector<std::string> ids;
  for (const auto& finding :
       checks::examine(cluster, decisions, census, *repository_data(), checks::Stage::preflight))
    if (report::blocks(finding)) ids.push_back(finding.id);
  return ids;
}

}  // namespace

TEST_CASE("what init itself puts right blocks no init") {
  using spec::Engine;
  CHECK(blockers("debian12-containerd-cri-off", {1, 20, 2}, Engine::containerd).empty());
  CHECK(blockers("debian12-docker", {1, 20, 2}, Engine::docker).empty());
}

TEST_CASE("a second init on a cluster that gpuadm created is not blocked, one on another cluster is") {
  CHECK(blockers("debian12-cluster", {1, 20, 2}, spec::Engine::containerd, true).empty());
  CHECK(blockers("debian12-cluster", {1, 20, 2}, spec::Engine::containerd) ==
        std::vector<std::string>{"kubeadm.foreign-cluster"});
}

TEST_CASE("what init cannot change blocks it") {
  CHECK(blockers("h200", {1, 33, 0}, spec::Engine::containerd) ==
        std::vector<std::string>{"host.init.systemd"});
  CHECK(blockers("debian12-docker", {1, 35, 0}, spec::Engine::containerd) ==
        std::vector<std::string>{"kernel.cgroup.version"});
}

TEST_CASE("hosts that could not be reached are left to others, and do not spoil the rest") {
  const auto cluster = spec::single("root@192.0.2.1").value();
  facts::Census census;
  census.emplace("away", base::fail(base::Fault::unreachable, "no route"));
  for (const auto& finding : checks::examine(cluster, {}, census, *repository_data(), checks::Stage::node))
    CHECK(finding.verdict == report::Verdict::skip);
  census.emplace(cluster.hosts.front().name, machine("debian12-docker"));
  for (const auto& finding :
       checks::examine(cluster, {}, census, *repository_data(), checks::Stage::preflight))
    CHECK(finding.host != "away");
}

TEST_CASE(
    "a host of which nothing could be read passes nothing that had to be read, and is planned for by "
    "nobody") {
  const auto cluster = spec::single("root@192.0.2.1").value();
  facts::Census census;
  census.emplace(cluster.hosts.front().name, facts::parse(probe_text({})).value());
  const auto findings = checks::examine(cluster, {}, census, *repository_data(), checks::Stage::preflight);
  for (const char* id :
       {"host.reboot.required", "kubeadm.leftover-config", "kubeadm.ports-free", "host.disk.swap-on",
        "kernel.sysctl.ip-forward", "host.cpu.count", "kernel.cgroup.version"}) {
    CAPTURE(id);
    const auto finding = std::ranges::find(findings, base::SharedText(id), &report::Finding::id);
    REQUIRE(finding != findings.end());
    CHECK(finding->verdict == report::Verdict::unknown);
  }
  for (const auto& finding : findings)
    CHECK(report::blocks(finding) == (finding.id == "host.probe.complete"));
  CHECK(checks::unread_for_plan(*census.begin()->second));
}

TEST_CASE("what a host says is shown harmless") {
  const auto cluster = spec::single("root@192.0.2.1").value();
  facts::Census census;
  census.emplace(
      cluster.hosts.front().name,
      facts::parse(probe_text({{"/proc/1/comm", "evil\033[2J" + std::string(100000, 'x')}})).value());
  const auto findings = checks::examine(cluster, {}, census, *repository_data(), checks::Stage::preflight);
  const auto init = std::ranges::find(findings, base::SharedText("host.init.systemd"), &report::Finding::id);
  REQUIRE(init != findings.end());
  CHECK(init->evidence.find('\033') == std::string::npos);
  CHECK(init->evidence.size() < 2000);
}
