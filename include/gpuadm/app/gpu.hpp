#pragma once

#include "gpuadm/app/app.hpp"

#include <optional>
#include <string>

/// `gpuadm gpu`: the GPUs of hosts and of their cluster, one by one.
namespace app {

struct GpuListOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path from;  ///< a recording to read instead of hosts
  Format format = Format::text;
};
/// One line a GPU: where it is, what it is, how it is shared, whether it is well, who holds it, and whether a
/// pod can have it. Changes nothing.
[[nodiscard]] Result<Outcome> gpu_list(const GpuListOptions& options, Io& io);

/// What shall be otherwise with the GPUs of one host.
enum class GpuChange { share, mig, reset };

struct GpuChangeOptions {
  Common common;
  std::filesystem::path file;  ///< the cluster file; empty: the host is the whole cluster
  std::string host;            ///< a name in the file, or a target; empty: this machine
  std::string how;             ///< share: "exclusive", a number, "mps:N"; mig: "off" or "PROFILE,…"
  Consent consent = Consent::ask;
  Format format = Format::text;
};
/// Previews, asks, journals and applies. Outcome::blocked where pods hold the host's GPUs, or the GPUs cannot
/// be so.
[[nodiscard]] Result<Outcome> gpu_change(GpuChange change, const GpuChangeOptions& options, Io& io);

}  // namespace app
