#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/cluster/health_metrics.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/facts/gpu_sample.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace commands {

/// The facts of this node. What does not change by itself, such as versions of programs, is read every five
/// minutes, and when files that decide it have changed; in between it is the text of an earlier run, which is
/// in `folder`.
[[nodiscard]] base::Result<facts::Facts> read_node(const std::string& host, transport::Fleet& fleet,
                                                   const assets::Store& assets, const cluster::Moment& now,
                                                   const std::filesystem::path& folder);

/// How many NVIDIA GPUs the PCI bus has, without the driver. `devices`: /sys/bus/pci/devices.
[[nodiscard]] int gpus_on_bus(const std::filesystem::path& devices);

/// A sum of the GPUs that nvidia-smi lists in the fast half; empty: it did not answer, or there is none. A
/// slow half is kept for these GPUs only.
[[nodiscard]] std::string listed_gpus(std::string_view fast);
/// The output of one probe from those of its halves. The first has the clock.
[[nodiscard]] std::string joined_probes(std::string_view fast, std::string_view slow);

/// The names in a folder, at most 20,000; none if it cannot be read.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& folder);
/// The pod of a process; hybrid control groups have several lines, and the kubelet's names the pod. Nothing:
/// the process has ended. `root`: /.
[[nodiscard]] std::optional<facts::CgroupOwner> process_owner(const std::string& pid,
                                                              const std::filesystem::path& root);

/// The containers that compute on the GPUs of this machine, by the control groups of the programs. Names are
/// those of the kubelet's log files. `root`: /. No program is started.
[[nodiscard]] std::vector<cluster::GpuUser> gpu_users(const facts::Nvidia& nvidia,
                                                      const std::filesystem::path& root);

}  // namespace commands
