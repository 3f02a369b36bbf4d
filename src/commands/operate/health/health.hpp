#pragma once

#include "gpuadm/cluster/health.hpp"

#include "commands/app.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// `gpuadm health`: nodes that check themselves.
namespace commands {

using cluster::taint_policy_named;
using cluster::TaintPolicy;

/// Where the metrics of a node are served: nowhere, over HTTP on 127.0.0.1, or over TLS on the node's
/// address.
enum class MetricsPlace { off, loopback, node };
inline constexpr std::pair<std::string_view, MetricsPlace> metrics_places[] = {
    {"off", MetricsPlace::off}, {"loopback", MetricsPlace::loopback}, {"node", MetricsPlace::node}};
inline constexpr int metrics_port = 9440;

/// How nodes check themselves.
struct HealthSettings {
  TaintPolicy taint = TaintPolicy::off;
  int interval = 30;              ///< seconds between two runs
  int max_tainted = 25;           ///< percent of the nodes with GPUs
  std::vector<std::string> skip;  ///< IDs of checks, or prefixes
  MetricsPlace metrics = MetricsPlace::off;
  int port = metrics_port;  ///< of the metrics
};

/// Settings that are not given are those of the cluster's health checks, or the defaults if it has none.
struct HealthEnableOptions {
  Common common;
  Hosts hosts;
  std::optional<TaintPolicy> taint;
  std::optional<int> interval, max_tainted, port;  ///< as in HealthSettings
  std::optional<std::vector<std::string>> skip;
  std::optional<MetricsPlace> metrics;
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
/// Prints what has changed on every node, in the order of time; with Format::html a page with a timeline of
/// every condition and GPU. Changes nothing.
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

struct HealthServeOptions {
  Common common;
  MetricsPlace listen = MetricsPlace::loopback;
  std::string address, node;  ///< of this machine, for MetricsPlace::node: its certificate is for both
  int port = metrics_port;
};
/// Serves the metrics of the last run under /metrics until SIGTERM, as the user nobody if root starts it.
/// With TLS, with a key of its own, which is made at the first start.
[[nodiscard]] Result<Outcome> health_serve(const HealthServeOptions& options, Io& io);

}  // namespace commands
