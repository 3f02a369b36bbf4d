#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace cluster {

/// A snapshot of etcd, as the host that made it has verified it.
struct Snapshot {
  std::string sha256;
  std::uintmax_t size = 0;
  long long hash = 0, revision = 0, keys = 0;
};

/// "SHA256 SIZE HASH REVISION KEYS", which playbooks/etcd.sh prints. Fault::parse for anything else.
[[nodiscard]] base::Result<Snapshot> read_snapshot(std::string_view line);

/// FILE.sha256, which holds the sum of a snapshot as sha256sum writes it.
[[nodiscard]] std::filesystem::path sum_file(const std::filesystem::path& file);

/// The SHA-256 of a snapshot on this machine. Fault::blocked where it is damaged: by FILE.sha256, if that is
/// there, and by the sum at its end.
[[nodiscard]] base::Result<std::string> check_snapshot(const std::filesystem::path& file);

}  // namespace cluster
