#include "commands/operate/health/enable.hpp"

#include <doctest/doctest.h>

TEST_CASE("a host that joins gets the health settings of the cluster") {
  app::HealthSettings options;
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

TEST_CASE("a second health enable keeps the settings that are not given") {
  app::HealthSettings current;
  current.taint = app::TaintPolicy::blocker;
  current.interval = 60;
  current.skip = {"nct"};
  app::HealthEnableOptions options;
  CHECK(app::variables_of(app::with_given(current, options)) == app::variables_of(current));
  options.metrics = app::MetricsPlace::loopback;
  const app::HealthSettings more = app::with_given(current, options);
  CHECK(more.taint == app::TaintPolicy::blocker);
  CHECK(more.interval == 60);
  CHECK(more.metrics == app::MetricsPlace::loopback);
  options.taint = app::TaintPolicy::off;
  options.skip = {{""}};
  CHECK(app::with_given(current, options).taint == app::TaintPolicy::off);
  CHECK(app::with_given(current, options).skip.empty());
}
