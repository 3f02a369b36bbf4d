#include "facts/tree/tree.hpp"

namespace facts {

namespace {

Tree process(const Process& p) {
  return Tree::map_of(
      {{"pid", p.pid}, {"name", p.name}, {"state", std::string(1, p.state)}, {"age", tree_of(p.age)}});
}

Tree blocks(const FreeBlocks& b) {
  Tree orders = Tree::list();
  for (const std::uint64_t count : b.orders) orders.push(count);
  return Tree::map_of({{"node", b.node}, {"zone", b.zone}, {"orders", orders}});
}

Tree strings(const std::optional<std::vector<std::string>>& values) {
  return values ? Tree::list_of(*values) : Tree();
}

Tree entry(const FstabEntry& e) {
  return Tree::map_of({{"device", e.device}, {"path", e.path}, {"type", e.type}, {"options", e.options}});
}

Tree block_device(const BlockDevice& b) {
  return Tree::map_of({{"name", b.name},
                       {"rotational", tree_of(b.rotational)},
                       {"volume", b.volume},
                       {"degraded", tree_of(b.degraded)},
                       {"arrayState", b.array_state}});
}

Tree drive(const DriveHealth& d) {
  return Tree::map_of({{"device", d.device},
                       {"passed", tree_of(d.passed)},
                       {"critical", tree_of(d.critical)},
                       {"wear", tree_of(d.wear)}});
}

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

Tree state_tree(const Facts& f) {
  Tree pages = Tree::map();
  for (const auto& [kib, count] : f.huge_pages) pages.set(std::to_string(kib), count);
  return Tree::map_of({{"commandLine", tree_of(f.command_line)},
                       {"uptime", tree_of(f.uptime)},
                       {"threads", tree_of(f.threads)},
                       {"stuck", f.stuck ? list_of(*f.stuck, process) : Tree()},
                       {"freeBlocks", list_of(f.free_blocks, blocks)},
                       {"clocksource", f.clocksource},
                       {"timeServer", tree_of(f.time_server)},
                       {"utcOffset", f.utc_offset},
                       {"governor", f.governor},
                       {"lockdown", f.lockdown},
                       {"secureBoot", tree_of(f.secure_boot)},
                       {"umask", f.umask},
                       {"hugePages", pages},
                       {"eccCorrected", tree_of(f.ecc_corrected)},
                       {"eccUncorrected", tree_of(f.ecc_uncorrected)},
                       {"neighbours", tree_of(f.neighbours)},
                       {"crashRecords", strings(f.crash_records)},
                       {"iommus", Tree::list_of(f.iommus)},
                       {"acsBridges", strings(f.acs_bridges)},
                       {"selinuxDenials", strings(f.selinux_denials)}});
}

Tree storage_tree(const Facts& f) {
  return Tree::map_of({{"fstab", list_of(f.fstab, entry)},
                       {"blockDevices", list_of(f.block_devices, block_device)},
                       {"nvme", map_of(f.nvme_states)},
                       {"drives", list_of(f.drives, drive)},
                       {"xfsFtype", tree_of(f.xfs_ftype)},
                       {"iscsiInitiator", f.iscsi_initiator},
                       {"multipathRules", Tree::list_of(f.multipath_rules)},
                       {"etcdFsync", tree_of(f.etcd_fsync)},
                       {"etcdCommit", tree_of(f.etcd_commit)}});
}

Tree rdma_tree(const Facts& f) {
  return Tree::map_of({{"cards", list_of(f.pci_nics, nic)},
                       {"devices", map_of(f.rdma_devices)},
                       {"verbs", Tree::list_of(f.rdma_verbs)},
                       {"ports", list_of(f.rdma_ports, port)},
                       {"mlx5Version", f.mlx5_version},
                       {"nvidiaFsVersion", f.nvidia_fs_version}});
}

}  // namespace facts
