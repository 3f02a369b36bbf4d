#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/error.hpp"
#include "gpuadm/cluster/snapshot_file.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <filesystem>
#include <string>

namespace app {

/// Fetches a snapshot of etcd from a host into a file of this machine (0600), and writes its sum into
/// cluster::sum_file(). What arrives is compared with `snapshot`; an incomplete file is removed.
[[nodiscard]] base::Result<> fetch_snapshot(const std::string& host, const std::string& path,
                                            const cluster::Snapshot& snapshot,
                                            const std::filesystem::path& file, transport::Fleet& fleet,
                                            const assets::Store& assets);

}  // namespace app
