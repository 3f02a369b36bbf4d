#pragma once

#include "gpuadm/app/app.hpp"
#include "gpuadm/cluster/health.hpp"

#include <string>
#include <vector>

/// `gpuadm health`: nodes that check themselves.
namespace app {

using cluster::taint_policy_named;
using cluster::TaintPolicy;

struct HealthEnableOptions {
  Common common;
  Hosts hosts;
  TaintPolicy taint = TaintPolicy::off;
  int interval = 30;              ///< seconds between two runs
  int max_tainted = 25;           ///< percent of the nodes with GPUs
  std::vector<std::string> skip;  ///< IDs of checks, or prefixes
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Installs this program and a systemd timer on every host, which must be a node. Journaled.
[[nodiscard]] Result<Outcome> health_enable(const HealthEnableOptions& options, Io& io);

struct HealthOptions {
  Common common;
  Hosts hosts;
  Format format = Format::text;
};
/// Prints the last run, the conditions and the taint of every node. Outcome::failed if a node is unhealthy,
/// or does not check itself. Changes nothing.
[[nodiscard]] Result<Outcome> health_status(const HealthOptions& options, Io& io);
/// Prints what has changed on every node, in the order of time. Changes nothing.
[[nodiscard]] Result<Outcome> health_history(const HealthOptions& options, Io& io);

struct HealthDisableOptions {
  Common common;
  Hosts hosts;
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Removes the timer, the program and the history from every host, and the conditions and taints from their
/// nodes.
[[nodiscard]] Result<Outcome> health_disable(const HealthDisableOptions& options, Io& io);

struct HealthRunOptions {
  Common common;
  std::string node;  ///< name of this machine's Node object
  TaintPolicy taint = TaintPolicy::off;
  int max_tainted = 25;
  std::vector<std::string> skip;
};
/// One run on this node, as the timer starts it: checks, writes the history, sends conditions and Events, and
/// sets taints on the first control-plane node. Outcome::failed if the results cannot be kept. An API server
/// that is away is not a failure: the results are sent later.
[[nodiscard]] Result<Outcome> health_run(const HealthRunOptions& options, Io& io);

}  // namespace app
