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

/// What is on a host, typed; nothing about good or bad.
/// std::optional = could not be read; an empty list = read, and there are none.
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
  bool gpuadm_installed = false;  ///< its journal here tells of a cluster, or of files in its folders
  /// Sections of the probe that could not be read, and why: "missing", "cut off", "timed out".
  std::map<std::string, std::string> unread;
  std::string noise;  ///< what the login printed before the probe began, the first 200 bytes
};

/// Reads what playbooks/probe.sh printed (docs/reference/probe.md). Missing sections leave facts empty; no
/// text makes it crash. Fails only where the text is not probe output at all or was cut off before its end
/// mark: Fault::parse.
[[nodiscard]] Result<Facts> parse(std::string_view probe_output);

/// Sets the clock's offset from when we sent the probe and had its answer, so that the way there and back
/// cancels out.
void place_clock(Clock& clock, base::Time sent, base::Time answered);

/// Everything, for JSON. Values that look like passwords in runtime configurations are replaced by "***".
[[nodiscard]] base::Tree to_tree(const Facts& facts);

/// By host name; a host that cannot be reached is data.
using Census = std::map<std::string, Result<Facts>>;

}  // namespace facts
