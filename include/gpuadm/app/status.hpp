#pragma once

#include "gpuadm/app/app.hpp"

/// `gpuadm status`: how a cluster is.
namespace app {

/// `wide`: text of any width, with addresses, members of etcd and single GPUs.
enum class StatusForm { text, wide, json, yaml };

struct StatusOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path from;  ///< a recording to read instead of hosts
  int watch = 0;               ///< seconds between two looks; 0: one look
  StatusForm form = StatusForm::text;
};
/// Nodes, control planes, etcd, network, certificates and GPUs, as hosts and a control plane say themselves
/// (docs/reference/status.md). Changes nothing. Outcome::failed where something is not well, ::unreachable
/// where no host could be reached. Fault::usage where all were reached and none is a control plane.
[[nodiscard]] Result<Outcome> status(const StatusOptions& options, Io& io);

}  // namespace app
