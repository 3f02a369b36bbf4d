#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace cluster {

/// A snapshot of etcd, as verified by the host that created it.
struct Snapshot {
  std::string sha256;
  std::uintmax_t size = 0;
  long long hash = 0, revision = 0, keys = 0;
};

/// Parses "SHA256 SIZE HASH REVISION KEYS", the output of playbooks/etcd.sh. Fault::parse for anything else.
[[nodiscard]] base::Result<Snapshot> read_snapshot(std::string_view line);

/// FILE.sha256, with the checksum of a snapshot in the format of sha256sum.
[[nodiscard]] std::filesystem::path sum_file(const std::filesystem::path& file);

/// The SHA-256 of a local snapshot. Fault::blocked if it is damaged: by FILE.sha256, if that exists, and by
/// the checksum at its end.
[[nodiscard]] base::Result<std::string> check_snapshot(const std::filesystem::path& file);

}  // namespace cluster
