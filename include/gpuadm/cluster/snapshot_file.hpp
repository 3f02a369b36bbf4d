#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace app {

/// A snapshot of etcd, as the host that made it has verified it.
struct Snapshot {
  std::string sha256;
  std::uintmax_t size = 0;
  long long hash = 0, revision = 0, keys = 0;
};

/// "SHA256 SIZE HASH REVISION KEYS", which playbooks/etcd.sh prints. Fault::parse for anything else.
[[nodiscard]] base::Result<Snapshot> read_snapshot(std::string_view line);

/// Brings a file of a host to this machine (0600), with its sum as sha256sum writes it in FILE.sha256. What
/// arrives is compared with the snapshot; a file that is not whole is removed.
[[nodiscard]] base::Result<> fetch_snapshot(const std::string& host, const std::string& path,
                                            const Snapshot& snapshot, const std::filesystem::path& file,
                                            transport::Fleet& fleet);

/// The SHA-256 of a snapshot on this machine. Fault::blocked where it is damaged: by FILE.sha256, if that is
/// there, and by the sum at its end.
[[nodiscard]] base::Result<std::string> check_snapshot(const std::filesystem::path& file);

}  // namespace app
