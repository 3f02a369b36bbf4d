#pragma once

#include "gpuadm/bundle/bundle.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace bundle {

/// Checksums that earlier runs have computed. A file that was not written since is not read again: its
/// device, inode, size, and times of modification and change are the same. This saves time only; hosts verify
/// every file that they receive.
class KnownSums {
 public:
  /// `file`: where they are kept; empty: nowhere. If it is missing or damaged, nothing is known.
  explicit KnownSums(std::filesystem::path file);
  /// The SHA-256 of a file.
  [[nodiscard]] Result<std::string> sum_of(const std::filesystem::path& path);
  /// Keeps those that were asked for. Best effort.
  void save() const;

 private:
  std::filesystem::path file_;
  std::map<std::string, std::string> known_, used_;  ///< identity of a file -> SHA-256
};

}  // namespace bundle
