#include "app/health/enable.hpp"

#include <doctest/doctest.h>

TEST_CASE("a host that joins gets the health settings of the cluster") {
  app::HealthEnableOptions options;
  options.taint = app::TaintPolicy::blocker;
  options.max_tainted = 10;
  options.skip = {"gpu.driver", "nct"};
  options.interval = 45;
  options.metrics = app::MetricsPlace::node;
  options.port = 9500;
  auto words = app::variables_of(options);
  const auto read =
      app::read_settings("run --node cp1 " + words["health_options"] + "\nevery " + words["health_interval"] +
                         "\nserve --listen " + words["metrics_place"] +
                         " --address 192.0.2.1 --node cp1 --port " + words["metrics_port"] + "\n");
  REQUIRE(read);
  CHECK(app::variables_of(*read) == words);
  CHECK(app::variables_of(*app::read_settings("run --node cp1 --taint off --max-tainted 25\nevery 30\n")) ==
        app::variables_of({}));
}

TEST_CASE("settings that this program does not know are refused, and do not get into a unit") {
  for (const char* output :
       {"", "every 30\n", "run --node cp1 --taint sometimes\n", "run --node cp1 --later\n", "run --node\n",
        "run --skip gpu.driver;reboot\n", "run --node a\nevery soon\n", "run --node a\nserve --listen all\n"})
    CHECK_MESSAGE(!app::read_settings(output), output);
}
