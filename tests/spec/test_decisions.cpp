#include "gpuadm/base/json.hpp"
#include "gpuadm/spec/decisions.hpp"

#include <doctest/doctest.h>

TEST_CASE("decisions: the decided version takes precedence, and the requested one is kept") {
  spec::Cluster cluster;
  cluster.kubernetes.version = base::Version{1, 36, -1};
  spec::Decisions decisions;
  CHECK(spec::kubernetes_of(cluster, decisions)->text() == "1.36");
  CHECK(spec::to_tree(spec::completed(cluster, decisions)) == spec::to_tree(cluster));
  decisions.kubernetes = base::Version{1, 36, 4};
  CHECK(spec::kubernetes_of(cluster, decisions)->text() == "1.36.4");
  CHECK(spec::completed(cluster, decisions).kubernetes.version->text() == "1.36.4");
  CHECK(cluster.kubernetes.version->text() == "1.36");
}

TEST_CASE("decisions: a host without decisions has the default, and decisions.json has every host") {
  spec::Decisions decisions;
  CHECK(decisions.of("gpu1").driver_branch == 0);
  CHECK(decisions.of("gpu1").runtime == spec::Supply::open);
  CHECK(decisions.hosts.empty());
  decisions.kubernetes = base::Version{1, 36, 4};
  decisions.hosts["cp1"].runtime = spec::Supply::none;
  decisions.hosts["gpu1"] = {580, "open", true, spec::Supply::bundle, spec::Supply::skipped};
  CHECK(base::json::write(spec::to_tree(decisions), 0) ==
        R"({"kubernetes":"1.36.4","withoutDns":false,"mayExist":false,"hosts":{)"
        R"("cp1":{"programsInBundle":false,"runtime":"none","toolkit":"open"},)"
        R"("gpu1":{"programsInBundle":true,"runtime":"bundle","toolkit":"skipped",)"
        R"("driver":{"branch":580,"modules":"open"}}}})");
}
