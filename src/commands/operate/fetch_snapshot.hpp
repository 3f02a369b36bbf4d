#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/error.hpp"
#include "gpuadm/cluster/snapshot_file.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <filesystem>
#include <string>

namespace commands {

/// Fetches a snapshot of etcd from a host into a local file (0600), and writes its checksum into
/// cluster::sum_file(). The contents are compared with `snapshot`; an incomplete file is removed.
[[nodiscard]] base::Result<> fetch_snapshot(const std::string& host, const std::string& path,
                                            const cluster::Snapshot& snapshot,
                                            const std::filesystem::path& file, transport::Fleet& fleet,
                                            const assets::Store& assets);

}  // namespace commands
