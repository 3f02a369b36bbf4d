#pragma once

#include "commands/app.hpp"

/// `gpuadm status`: the state of a cluster.
namespace commands {

/// `wide`: text of any width, with addresses, members of etcd and single GPUs.
enum class StatusForm { text, wide, json, yaml };

struct StatusOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path from;  ///< a recording to read instead of hosts
  int watch = 0;               ///< seconds between two surveys; 0: one survey
  StatusForm form = StatusForm::text;
};
/// Prints nodes, control planes, etcd, network, certificates and GPUs, as reported by hosts and a
/// control-plane node (docs/reference/status.md). Changes nothing. Outcome::failed if there is a problem,
/// ::unreachable if no host is reachable. Fault::usage if all are reachable and none is a control-plane node.
[[nodiscard]] Result<Outcome> status(const StatusOptions& options, Io& io);

}  // namespace commands
