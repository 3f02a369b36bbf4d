#include "gpuadm/session/run_playbook.hpp"

#include <doctest/doctest.h>

TEST_CASE("a bundle is for hosts of its own architecture, and for those of which nothing is known") {
  spec::Cluster cluster;
  for (const char* name : {"known", "unseen", "silent"}) cluster.hosts.emplace_back().name = name;
  facts::Facts facts;
  facts.os.architecture = "x86_64";
  facts::Census census;
  census.emplace("known", facts);
  census.emplace("silent", base::fail(base::Fault::unreachable, "no answer"));
  bundle::Bundle bundle;
  bundle.directory = "lab";
  bundle.architecture = "amd64";
  CHECK(session::is_for_hosts(bundle, cluster, census));
  bundle.architecture = "arm64";
  const auto refused = session::is_for_hosts(bundle, cluster, census);
  REQUIRE(!refused);
  CHECK(refused.error().fault == base::Fault::blocked);
  CHECK(refused.error().what == "known is x86_64, but the bundle lab is for arm64");
}
