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
  for (const auto& [kib, count] : f.kernel.huge_pages) pages.set(std::to_string(kib), count);
  return Tree::map_of({{"commandLine", tree_of(f.kernel.command_line)},
                       {"uptime", tree_of(f.kernel.uptime)},
                       {"threads", tree_of(f.kernel.threads)},
                       {"stuck", f.kernel.stuck ? list_of(*f.kernel.stuck, process) : Tree()},
                       {"freeBlocks", list_of(f.kernel.free_blocks, blocks)},
                       {"clocksource", f.clock.source},
                       {"timeServer", tree_of(f.clock.server)},
                       {"utcOffset", f.clock.utc_offset},
                       {"governor", f.machine.governor},
                       {"lockdown", f.security.lockdown},
                       {"secureBoot", tree_of(f.security.secure_boot)},
                       {"umask", f.umask},
                       {"hugePages", pages},
                       {"eccCorrected", tree_of(f.machine.ecc_corrected)},
                       {"eccUncorrected", tree_of(f.machine.ecc_uncorrected)},
                       {"neighbours", tree_of(f.network.neighbours)},
                       {"crashRecords", strings(f.kernel.crash_records)},
                       {"iommus", Tree::list_of(f.machine.iommus)},
                       {"acsBridges", strings(f.machine.acs_bridges)},
                       {"selinuxDenials", strings(f.security.selinux_denials)}});
}

Tree storage_tree(const Facts& f) {
  return Tree::map_of({{"fstab", list_of(f.storage.fstab, entry)},
                       {"blockDevices", list_of(f.storage.block_devices, block_device)},
                       {"nvme", map_of(f.storage.nvme_states)},
                       {"drives", list_of(f.storage.drives, drive)},
                       {"xfsFtype", tree_of(f.storage.xfs_ftype)},
                       {"iscsiInitiator", f.storage.iscsi_initiator},
                       {"multipathRules", Tree::list_of(f.storage.multipath_rules)},
                       {"etcdFsync", tree_of(f.kubernetes.etcd_fsync)},
                       {"etcdCommit", tree_of(f.kubernetes.etcd_commit)}});
}

Tree rdma_tree(const Rdma& r) {
  return Tree::map_of({{"cards", list_of(r.nics, nic)},
                       {"devices", map_of(r.devices)},
                       {"verbs", Tree::list_of(r.verbs)},
                       {"ports", list_of(r.ports, port)},
                       {"mlx5Version", r.mlx5_version},
                       {"nvidiaFsVersion", r.nvidia_fs_version}});
}

}  // namespace facts
