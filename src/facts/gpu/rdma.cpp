#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/text/words.hpp"
#include "facts/tree/tree.hpp"

#include <algorithm>

namespace facts {

namespace {

/// "4: ACTIVE" is ACTIVE.
std::string behind_colon(std::string_view value) {
  const std::size_t colon = value.find(':');
  return std::string(base::trim(colon == std::string_view::npos ? value : value.substr(colon + 1)));
}

RdmaPort& port_of(Rdma& rdma, std::string_view device, int number) {
  const auto place = std::find_if(rdma.ports.begin(), rdma.ports.end(), [&](const RdmaPort& port) {
    return port.device == device && port.port == number;
  });
  if (place != rdma.ports.end()) return *place;
  rdma.ports.push_back({.device = std::string(device), .port = number});
  return rdma.ports.back();
}

void read_port(RdmaPort& port, std::string_view file, std::string_view value) {
  if (file == "state") port.state = behind_colon(value);
  if (file == "phys_state") port.physical = behind_colon(value);
  if (file == "link_layer") port.layer = std::string(value);
  if (file == "gid_attrs/ndevs/0") port.link = std::string(value);
  if (file == "rate") {  // "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)"
    const auto rate = base::to_real(value.substr(0, value.find(' ')));
    if (rate && *rate > 0 && *rate < 100000) port.gbps = static_cast<int>(*rate);
    if (const std::size_t open = value.find('('); open != std::string_view::npos)
      port.width = std::string(value.substr(open + 1, value.find_first_of(" )", open) - open - 1));
  }
  if (file == "counters/link_downed") port.link_downed = count(value);
  if (file == "counters/symbol_error") port.symbol_errors = count(value);
  if (file == "counters/port_rcv_errors") port.receive_errors = count(value);
  if (file == "counters/link_error_recovery") port.recoveries = count(value);
  if (file.starts_with("gid_attrs/types/") &&
      std::find(port.gid_types.begin(), port.gid_types.end(), value) == port.gid_types.end())
    port.gid_types.emplace_back(value);
}

void read_nics(const Sections& sections, Rdma& rdma) {
  for (const std::string_view line : sections.lines("pci")) {
    const auto words = base::words(line);
    auto values = pairs(line);
    const std::string kind = values["class"].substr(0, 4);
    if (!words.empty() && values["vendor"] == "15b3" && kind.starts_with("02"))
      rdma.nics.push_back(
          {slot_of(words[0]), kind, values["driver"], values["place"], numa_node(values["numa"])});
  }
}

}  // namespace

void read_rdma(const Sections& sections, Facts& facts) {
  read_nics(sections, facts.rdma);
  static constexpr std::string_view root = "/sys/class/infiniband/";
  for (const std::string_view line : sections.lines("rdma")) {
    const std::size_t blank = line.find(' ');
    if (!line.starts_with(root) || blank == std::string_view::npos) continue;
    const std::string_view path = line.substr(root.size(), blank - root.size()),
                           value = base::trim(line.substr(blank));
    const auto parts = base::split(path, '/');
    if (parts.size() == 2 && parts[1] == "fw_ver") facts.rdma.devices.emplace(parts[0], value);
    if (parts.size() < 4 || parts[1] != "ports") continue;
    const auto number = count(parts[2]);
    if (!number || *number > 255 || facts.rdma.ports.size() > 1024) continue;
    read_port(port_of(facts.rdma, parts[0], static_cast<int>(*number)),
              path.substr(parts[0].size() + parts[1].size() + parts[2].size() + 3), value);
  }
  for (const auto& [path, value] : sections.values("sysfs")) {
    if (path.starts_with("/sys/class/infiniband_verbs/") && base::words(value).size() == 1)
      facts.rdma.verbs.emplace_back(value);
    if (path == "/sys/module/mlx5_core/version") facts.rdma.mlx5_version = std::string(value);
    if (path == "/sys/module/nvidia_fs/version") facts.rdma.nvidia_fs_version = std::string(value);
  }
}

namespace {

Tree port(const RdmaPort& p) {
  return Tree::map_of({{"device", p.device},
                       {"port", p.port},
                       {"state", p.state},
                       {"physical", p.physical},
                       {"layer", p.layer},
                       {"link", p.link},
                       {"gbps", tree_of(p.gbps)},
                       {"width", p.width},
                       {"linkDowned", tree_of(p.link_downed)},
                       {"symbolErrors", tree_of(p.symbol_errors)},
                       {"receiveErrors", tree_of(p.receive_errors)},
                       {"recoveries", tree_of(p.recoveries)},
                       {"gidTypes", Tree::list_of(p.gid_types)}});
}

Tree nic(const PciNic& n) {
  return Tree::map_of({{"slot", n.slot},
                       {"class", n.pci_class},
                       {"driver", n.driver},
                       {"place", n.place},
                       {"numa", tree_of(n.numa)}});
}

}  // namespace

Tree rdma_tree(const Rdma& r) {
  return Tree::map_of({{"cards", list_of(r.nics, nic)},
                       {"devices", map_of(r.devices)},
                       {"verbs", Tree::list_of(r.verbs)},
                       {"ports", list_of(r.ports, port)},
                       {"mlx5Version", r.mlx5_version},
                       {"nvidiaFsVersion", r.nvidia_fs_version}});
}

}  // namespace facts
