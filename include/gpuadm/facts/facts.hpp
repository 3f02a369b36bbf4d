#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/clock.hpp"
#include "gpuadm/facts/kernel.hpp"
#include "gpuadm/facts/kubernetes.hpp"
#include "gpuadm/facts/machine.hpp"
#include "gpuadm/facts/network.hpp"
#include "gpuadm/facts/nvidia.hpp"
#include "gpuadm/facts/os.hpp"
#include "gpuadm/facts/rdma.hpp"
#include "gpuadm/facts/runtime.hpp"
#include "gpuadm/facts/security.hpp"
#include "gpuadm/facts/software.hpp"
#include "gpuadm/facts/storage.hpp"

#include <map>
#include <string>
#include <string_view>

/// State of a host, typed; without judgment.
/// std::optional = could not be read; an empty list = there are none.
namespace facts {

using base::Result;

struct Facts {
  Machine machine;
  Os os;
  Kernel kernel;
  Clock clock;
  Network network;
  Storage storage;
  Software software;
  Security security;
  Runtimes runtime;
  Kubernetes kubernetes;
  Nvidia nvidia;
  Rdma rdma;
  std::string euid, umask;        ///< of the login
  bool gpuadm_installed = false;  ///< its journal records a cluster, or files in its directories
  /// Sections of the probe that could not be read, with the reason: "missing", "truncated", "timed out".
  std::map<std::string, std::string> unread;
  std::string noise;  ///< output of the login shell before the probe began, the first 200 bytes
};

/// Parses the output of playbooks/probe.sh (docs/reference/probe.md). Missing sections leave facts empty; no
/// input makes it crash. Fails only if the text is not probe output or lacks its end mark: Fault::parse.
[[nodiscard]] Result<Facts> parse(std::string_view probe_output);

/// Sets the clock's offset from the times when the probe was sent and its output arrived, so that the network
/// delay cancels out.
void place_clock(Clock& clock, base::Time sent, base::Time answered);

/// Everything, for JSON. Apparent passwords in runtime configurations are replaced by "***".
[[nodiscard]] base::Tree to_tree(const Facts& facts);

/// By host name; an unreachable host is data.
using Census = std::map<std::string, Result<Facts>>;

}  // namespace facts
