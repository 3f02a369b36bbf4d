#pragma once

#include "commands/operate/health/health.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

/// Options that commands of `gpuadm health` share, into the settings themselves or into optional ones.
namespace commands {

template <class Policy, class Percent, class Skip>
void add_taint(Line& line, Policy& policy, Percent& max_tainted, Skip& skip) {
  line.list("--skip", skip, "ID,...", "Skip these checks; a prefix such as nct selects a group");
  line.choice<Policy, TaintPolicy>(
      "--taint", policy,
      {{"off", TaintPolicy::off}, {"blocker", TaintPolicy::blocker}, {"warning", TaintPolicy::warning}},
      "Taint nodes, so that they get no new pods: with a blocker, with a "
      "warning, too, or never (default off)");
  line.value("--max-tainted", max_tainted, "PERCENT",
             "Most nodes that are tainted at a time, in percent of those with GPUs; one always may be "
             "(default 25)")
      .range(0, 100);
}

template <class Port>
void add_metrics_port(Line& line, const char* name, Port& port) {
  line.value(name, port, "PORT", fmt::format("TCP port of the metrics (default {})", metrics_port))
      .range(1024, 65535);
}

}  // namespace commands
