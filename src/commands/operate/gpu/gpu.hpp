#pragma once

#include "gpuadm/cluster/gpu_top.hpp"

#include "commands/app.hpp"

#include <optional>
#include <string>

/// `gpuadm gpu`: single GPUs of hosts and of their cluster.
namespace commands {

struct GpuListOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path from;  ///< a recording to read instead of hosts
  Format format = Format::text;
};
/// Prints one line per GPU: node, model, sharing, health, users, and whether a pod can get it. Changes
/// nothing.
[[nodiscard]] Result<Outcome> gpu_list(const GpuListOptions& options, Io& io);

using cluster::TopSort;

struct GpuTopOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path from;    ///< a record to read instead of sampling hosts
  std::filesystem::path record;  ///< a new file, which gets a line of JSON for each interval
  TopSort sort = TopSort::node;
  int interval = 2;  ///< seconds
  int count = 0;     ///< intervals; 0: until Ctrl-C
  Format format = Format::text;
};
/// Shows every GPU of every host with its users, again each interval: on a terminal in place, otherwise a
/// block, with JSON a line. With HTML, writes one page at the end. Outcome::unreachable if no host answered.
[[nodiscard]] Result<Outcome> gpu_top(const GpuTopOptions& options, Io& io);

/// A change of the GPU settings of one host.
enum class GpuChange { share, mig, reset };

struct GpuChangeOptions {
  Common common;
  std::filesystem::path file;  ///< the cluster file; empty: the host is the whole cluster
  std::string host;            ///< a name in the file, or a target; empty: this machine
  std::string how;             ///< share: "exclusive", a number, "mps:N"; mig: "off" or "PROFILE,…"
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Previews, asks, journals and applies. Outcome::blocked if pods use the host's GPUs, or if the GPUs do not
/// support the setting.
[[nodiscard]] Result<Outcome> gpu_change(GpuChange change, const GpuChangeOptions& options, Io& io);

enum class Quarantine { add, release };

struct QuarantineOptions {
  Common common;
  std::filesystem::path file;  ///< the cluster file; empty: the host is the whole cluster
  std::string host;            ///< a name in the file, or a target
  std::string gpu;             ///< index, UUID or PCI address
  std::string reason;          ///< the operator's words, for the lists; may be empty
  bool evict = false;          ///< with NVIDIA's DRA driver: end the pods that use the GPU
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Keeps one GPU of a node from pods, or offers it again: previews, asks, journals and applies. The node
/// advertises its other GPUs, or with NVIDIA's DRA driver a DeviceTaintRule taints the GPU's device; pods
/// that use the GPU keep it until they end. Fault::blocked if the cluster's way to allocate GPUs does not
/// allow it.
[[nodiscard]] Result<Outcome> gpu_quarantine(Quarantine what, const QuarantineOptions& options, Io& io);

enum class GpuReset { reset, cancel };

struct GpuResetOptions {
  Common common;
  std::filesystem::path file;  ///< the cluster file; empty: the host is the whole cluster
  std::string host;            ///< a name in the file, or a target
  std::string gpu;             ///< index, UUID or PCI address
  GpuReset what = GpuReset::reset;
  int drain_timeout = 300;  ///< seconds for the pods that use the GPU to end
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Resets one GPU of a node: cordons the node, evicts the pods that use the GPU, stops the device plugin and
/// services that use it, resets it, verifies that it is healthy, and undoes the preparations. Continues a
/// reset that did not complete; with GpuReset::cancel, only undoes its preparations. Outcome::blocked or
/// Fault::blocked, with nothing changed, if the GPU cannot be reset alone, or is used by programs that gpuadm
/// does not end.
[[nodiscard]] Result<Outcome> gpu_reset(const GpuResetOptions& options, Io& io);

}  // namespace commands
