#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace facts {

/// A network card of Mellanox or NVIDIA on the PCI bus.
struct PciNic {
  std::string slot, pci_class, driver;  ///< as in PciGpu
  std::string place;
  std::optional<int> numa;
};

struct RdmaPort {
  std::string device;  ///< "mlx5_0"
  int port = 0;
  std::string state, physical, layer;  ///< "ACTIVE", "LinkUp", "InfiniBand" or "Ethernet"
  std::string link;                    ///< network interface of an Ethernet port
  std::optional<int> gbps;
  std::string width;  ///< "4X"
  std::optional<std::uint64_t> link_downed, symbol_errors, receive_errors, recoveries;
  std::vector<std::string> gid_types;  ///< "IB/RoCE v1", "RoCE v2": of the first few
};

struct Rdma {
  std::vector<PciNic> nics;
  std::map<std::string, std::string> devices;  ///< name -> firmware
  std::vector<std::string> verbs;              ///< devices that programs can open
  std::vector<RdmaPort> ports;
  std::string mlx5_version, nvidia_fs_version;  ///< empty: not loaded, or without a version
};

}  // namespace facts
