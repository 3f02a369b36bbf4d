#include "session/read/gpu_pods.hpp"

#include <doctest/doctest.h>

namespace {

facts::GpuSample sample_of(const std::string& uid) {
  facts::GpuSample sample;
  sample.gpus.emplace_back().programs.push_back(
      {.pid = 1, .name = "python", .used_mib = 1, .pod_uid = uid, .container = ""});
  return sample;
}

using Uids = std::vector<std::string>;

}  // namespace

TEST_CASE("a pod is asked for once, at its node and at the control plane, whose labels count") {
  std::map<std::string, facts::PodName, std::less<>> pods;
  session::PodNaming naming(pods);
  const base::Instant now = base::Clock::now();
  naming.note("gpu1", sample_of("u"));
  CHECK(naming.for_node("gpu2", now).empty());
  CHECK(naming.for_node("gpu1", now) == Uids{"u"});
  naming.asked_node({"u"}, now);
  CHECK(naming.for_node("gpu1", now).empty());
  naming.answered_node(facts::parse_pod_names("| u\tdefault\tanna-0\t\t\n| other\tx\ty\n"));
  CHECK(pods.size() == 1);
  CHECK(naming.for_cluster(now) == Uids{"u"});
  naming.asked_cluster({"u"}, now);
  naming.answered_cluster(facts::parse_pod_names("| u\tdefault\tanna-0\tnotebook\tanna\n"));
  CHECK(pods.at("u").workload == "anna");
  CHECK(naming.for_cluster(now + std::chrono::hours(1)).empty());
  CHECK(naming.for_node("gpu1", now + std::chrono::hours(1)).empty());
}

TEST_CASE("a pod that the control plane does not list is asked for again after 10s, then less often") {
  std::map<std::string, facts::PodName, std::less<>> pods;
  session::PodNaming naming(pods);
  base::Instant now = base::Clock::now();
  naming.note("gpu1", sample_of("u"));
  naming.asked_cluster({"u"}, now);
  CHECK(naming.for_cluster(now + std::chrono::seconds(9)).empty());
  now += std::chrono::seconds(10);
  CHECK(naming.for_cluster(now) == Uids{"u"});
  naming.asked_cluster({"u"}, now);
  CHECK(naming.for_cluster(now + std::chrono::seconds(19)).empty());
  CHECK(naming.for_cluster(now + std::chrono::seconds(20)) == Uids{"u"});
}
