#include "gpuadm/cluster/verdict.hpp"

#include <doctest/doctest.h>

namespace {

using cluster::Health;
using report::Finding;
using report::Severity;

Finding finding(const std::string& id, Severity severity, report::Verdict verdict, const std::string& host) {
  Finding one;
  one.id = id;
  one.severity = severity;
  one.verdict = verdict;
  one.host = host;
  one.message = "what " + id + " found";
  one.remedy = "a sentence";
  return one;
}

cluster::GpuChain chain(report::Verdict last) {
  cluster::GpuChain chain{"gpu1", "gpu1", 8, {}};
  chain.links.push_back(finding("verify.driver", Severity::blocker, report::Verdict::pass, "gpu1"));
  chain.links.push_back(finding("verify.nvml", Severity::blocker, last, "gpu1"));
  return chain;
}

}  // namespace

TEST_CASE("a cluster is healthy if everything was read and nothing is wrong") {
  const cluster::Verdict verdict = cluster::verdict_of({}, {}, {});
  CHECK(verdict.health() == Health::well);
  CHECK(to_text(verdict) == "Cluster is healthy");
  CHECK(to_text(verdict, "lab") == "Cluster lab is healthy");
}

TEST_CASE("what was not read is unknown, never zero problems") {
  cluster::Verdict seen;
  seen.unread.push_back({"the cluster", "pods could not be read", {}, {}});
  const cluster::Verdict verdict = cluster::verdict_of(seen, {}, {});
  CHECK(verdict.health() == Health::unknown);
  CHECK(to_text(verdict) == "the state is unknown; 1 reading is missing");
  CHECK(to_tree(verdict).find("health")->text() == "unknown");
}

TEST_CASE("a broken link is a problem, and an unknown one is unread") {
  const std::vector broken = {chain(report::Verdict::fail)}, unknown = {chain(report::Verdict::unknown)};
  const cluster::Verdict ill = cluster::verdict_of({}, {}, broken);
  CHECK(ill.health() == Health::ill);
  REQUIRE(ill.problems.size() == 1);
  CHECK(ill.problems.front().where == "gpu1");
  CHECK(ill.problems.front().what.find("nvml") != std::string::npos);
  CHECK(cluster::verdict_of({}, {}, unknown).health() == Health::unknown);
  // The host's own problem explains it.
  cluster::Verdict seen;
  seen.problems.push_back({"gpu1", "no route to host", {}, {}});
  CHECK(cluster::verdict_of(seen, {}, broken).problems.size() == 1);
}

TEST_CASE("a problem that was seen hides the finding of its own check and place only") {
  const auto fail = report::Verdict::fail;
  const std::vector findings = {finding("net.cni-plugin", Severity::blocker, fail, "gpu1"),
                                finding("net.cni-plugin", Severity::blocker, fail, "gpu2"),
                                finding("cl.nodes-ready", Severity::blocker, fail, ""),
                                finding("cl.etcd-health", Severity::blocker, fail, "")};
  cluster::Verdict seen;
  seen.problems.push_back({"gpu1", "no network plugin is configured", {}, {"net.cni-plugin"}});
  seen.problems.push_back(
      {"gpu2", "the kubelet is not running", {}, {"kubelet.service-active", "cl.nodes-ready"}});
  const cluster::Verdict verdict = cluster::verdict_of(seen, findings, {});
  REQUIRE(verdict.problems.size() == 4);
  CHECK(verdict.problems[2].where == "gpu2");
  CHECK(verdict.problems[2].checks.front() == "net.cni-plugin");
  CHECK(verdict.problems[3].where == "the cluster");
  CHECK(verdict.problems[3].checks.front() == "cl.etcd-health");
}

TEST_CASE("blockers are problems, each once, without those that follow; unknown checks are counted") {
  std::vector findings = {finding("gpu.driver.loaded", Severity::blocker, report::Verdict::fail, "gpu1"),
                          finding("gpu.count", Severity::blocker, report::Verdict::fail, "gpu1"),
                          finding("host.swap", Severity::warning, report::Verdict::fail, "gpu1"),
                          finding("sec.advisories", Severity::note, report::Verdict::unknown, "gpu1"),
                          finding("host.disk", Severity::blocker, report::Verdict::pass, "gpu1")};
  findings[1].caused_by = "gpu.driver.loaded";
  const cluster::Verdict verdict = cluster::verdict_of({}, findings, {});
  REQUIRE(verdict.problems.size() == 1);
  CHECK(verdict.problems.front().remedy == "gpuadm explain gpu.driver.loaded");
  CHECK(to_text(verdict) == "1 problem found; 1 check is unknown");
}
