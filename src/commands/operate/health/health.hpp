#pragma once

#include "gpuadm/cluster/health.hpp"

#include "commands/command.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// `gpuadm health`: nodes that check themselves.
namespace commands {

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
struct HealthOptions {
  Common common;
  Hosts hosts;
  Format format = Format::text;
};
}  // namespace commands
