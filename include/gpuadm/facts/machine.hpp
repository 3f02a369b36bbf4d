#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace facts {

/// The hardware, real or virtual, and its names.
struct Machine {
  std::string hostname, fqdn;
  std::optional<std::vector<std::string>> resolves;  ///< addresses to which the host's own name resolves
  std::string id;                                    ///< /etc/machine-id
  std::string product_uuid, vendor, product;
  std::vector<std::string> macs;  ///< of physical links
  int cpus = 0;
  std::string governor;  ///< of the CPU frequency
  std::optional<std::uint64_t> memory_kib;
  std::optional<std::uint64_t> ecc_corrected, ecc_uncorrected;  ///< errors of main memory since boot
  std::string numa_nodes;  ///< "0" or "0-1"; /sys/devices/system/node/online
  std::vector<std::string> iommus;
  std::optional<std::vector<std::string>> acs_bridges;  ///< PCI bridges with ACS redirection between devices
};

}  // namespace facts
