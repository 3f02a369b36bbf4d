#include "commands/operate/health/enable.hpp"

#include <doctest/doctest.h>

TEST_CASE("a host that joins gets the health settings of the cluster") {
  commands::HealthSettings options;
  options.taint = commands::TaintPolicy::blocker;
  options.max_tainted = 10;
  options.skip = {"gpu.driver", "nct"};
  options.interval = 45;
  options.metrics = commands::MetricsPlace::node;
  options.port = 9500;
  auto words = commands::variables_of(options);
  const auto read =
      commands::read_settings("run --node cp1 " + words["health_options"] + "\nevery " +
                              words["health_interval"] + "\nserve --listen " + words["metrics_place"] +
                              " --address 192.0.2.1 --node cp1 --port " + words["metrics_port"] + "\n");
  REQUIRE(read);
  CHECK(commands::variables_of(*read) == words);
  CHECK(commands::variables_of(*commands::read_settings(
            "run --node cp1 --taint off --max-tainted 25\nevery 30\n")) == commands::variables_of({}));
}

TEST_CASE("settings that this program does not know are refused, and do not get into a unit") {
  for (const char* output :
       {"", "every 30\n", "run --node cp1 --taint sometimes\n", "run --node cp1 --later\n", "run --node\n",
        "run --skip gpu.driver;reboot\n", "run --node a\nevery soon\n", "run --node a\nserve --listen all\n"})
    CHECK_MESSAGE(!commands::read_settings(output), output);
}

TEST_CASE("a second health enable keeps the settings that are not given") {
  commands::HealthSettings current;
  current.taint = commands::TaintPolicy::blocker;
  current.interval = 60;
  current.skip = {"nct"};
  commands::HealthEnableOptions options;
  CHECK(commands::variables_of(commands::with_given(current, options)) == commands::variables_of(current));
  options.metrics = commands::MetricsPlace::loopback;
  const commands::HealthSettings more = commands::with_given(current, options);
  CHECK(more.taint == commands::TaintPolicy::blocker);
  CHECK(more.interval == 60);
  CHECK(more.metrics == commands::MetricsPlace::loopback);
  options.taint = commands::TaintPolicy::off;
  options.skip = {{""}};
  CHECK(commands::with_given(current, options).taint == commands::TaintPolicy::off);
  CHECK(commands::with_given(current, options).skip.empty());
}
