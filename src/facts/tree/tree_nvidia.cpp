#include "facts/tree/tree.hpp"

namespace facts {

namespace {

Tree pci_gpu(const PciGpu& g) {
  Tree aer;
  if (g.aer)
    aer = Tree::map_of(
        {{"correctable", g.aer->correctable}, {"nonfatal", g.aer->nonfatal}, {"fatal", g.aer->fatal}});
  return Tree::map_of({{"slot", g.slot},
                       {"deviceId", g.device_id},
                       {"subsystem", g.subsystem},
                       {"class", g.pci_class},
                       {"driver", g.driver},
                       {"iommu", g.iommu},
                       {"place", g.place},
                       {"numa", tree_of(g.numa)},
                       {"aer", aer}});
}

Tree process(const GpuProcess& p) {
  return Tree::map_of({{"pid", p.pid}, {"type", p.type}, {"name", p.name}, {"usedMib", tree_of(p.used_mib)}});
}

Tree mig_instance(const MigInstance& m) {
  return Tree::map_of({{"index", m.index},
                       {"profile", m.profile},
                       {"uuid", m.uuid},
                       {"usedMib", tree_of(m.used_mib)},
                       {"totalMib", tree_of(m.total_mib)}});
}

Tree nvlinks(const std::optional<NvLinks>& n) {
  if (!n) return {};
  Tree errors = Tree::map();
  for (const auto& [what, times] : n->errors) errors.set(what, times);
  return Tree::map_of({{"active", n->active}, {"inactive", Tree::list_of(n->inactive)}, {"errors", errors}});
}

Tree xid(const Xid& x) {
  return Tree::map_of({{"seconds", x.seconds}, {"slot", x.slot}, {"code", x.code}, {"text", x.text}});
}

Tree fabric_manager(const FabricManager& m) {
  return Tree::map_of({{"version", tree_of(m.version)},
                       {"log", m.log ? Tree::list_of(*m.log) : Tree()},
                       {"config", map_of(m.config)}});
}

Tree gpu(const Gpu& g) {
  return Tree::map_of({{"index", g.index},
                       {"uuid", g.uuid},
                       {"name", g.name},
                       {"busId", g.bus_id},
                       {"memoryMib", tree_of(g.memory_mib)},
                       {"computeCapability", tree_of(g.compute_capability)},
                       {"architecture", tree_of(g.architecture)},
                       {"persistence", tree_of(g.persistence)},
                       {"mig", tree_of(g.mig)},
                       {"migPending", tree_of(g.mig_pending)},
                       {"computeMode", tree_of(g.compute_mode)},
                       {"recoveryAction", tree_of(g.recovery_action)},
                       {"inforomChecksum", tree_of(g.inforom_checksum)},
                       {"migDevices", g.mig_devices},
                       {"migInstances", list_of(g.instances, mig_instance)},
                       {"processes", list_of(g.processes, process)},
                       {"nvlinks", nvlinks(g.nvlinks)},
                       {"pathsTo", Tree::list_of(g.paths_to)},
                       {"readings", map_of(g.readings)}});
}

Tree quarantined(const QuarantinedGpu& q) {
  return Tree::map_of({{"uuid", q.uuid}, {"slot", q.slot}, {"since", q.since}, {"reason", q.reason}});
}

Tree driver_root(const DriverRoot& root) {
  return Tree::map_of({{"path", root.path},
                       {"nvidiaSmi", root.smi},
                       {"library", root.library},
                       {"hidesDevices", root.hides_devices}});
}

}  // namespace

Tree nvidia_tree(const Facts& f) {
  Tree driver;
  if (f.nvidia.driver)
    driver = Tree::map_of({{"version", f.nvidia.driver->version},
                           {"openModules", tree_of(f.nvidia.driver->open_modules)},
                           {"cuda", tree_of(f.nvidia.driver->cuda)},
                           {"library", tree_of(f.nvidia.driver->library)}});
  Tree tree = Tree::map_of(
      {{"pci", list_of(f.nvidia.pci_gpus, pci_gpu)},
       {"driver", driver},
       {"driverInstalled", tree_of(f.nvidia.driver_installed)},
       {"libraries", Tree::list_of(f.nvidia.libraries)},
       {"driverRoots", f.nvidia.driver_roots ? list_of(*f.nvidia.driver_roots, driver_root) : Tree()},
       {"blacklisted", Tree::list_of(std::vector(f.nvidia.blacklisted.begin(), f.nvidia.blacklisted.end()))},
       {"deviceNodes", Tree::list_of(f.nvidia.device_nodes)},
       {"devChar", f.nvidia.dev_char ? Tree::list_of(*f.nvidia.dev_char) : Tree()},
       {"danglingLibraries", Tree::list_of(f.nvidia.dangling_libraries)},
       {"linkerFolders", map_of(f.nvidia.linker_folders)},
       {"gcc", tree_of(f.nvidia.gcc)},
       {"buildLog", Tree::list_of(f.nvidia.build_log)},
       {"kernelCompiler", f.kernel.compiler},
       {"nvswitches", Tree::list_of(f.nvidia.nvswitches)},
       {"nvlinkManagers", Tree::list_of(f.nvidia.nvlink_managers)},
       {"fabricManager", fabric_manager(f.nvidia.fabric_manager)},
       {"xids", list_of(f.nvidia.xids, xid)},
       {"sxids", list_of(f.nvidia.sxids, xid)},
       {"smiSeconds", tree_of(f.nvidia.smi_seconds)},
       {"smiWarnings", Tree::list_of(f.nvidia.smi_warnings)},
       {"smiStatus", tree_of(f.nvidia.smi_status)},
       {"smiSays", f.nvidia.smi_message},
       {"gpus", list_of(f.nvidia.gpus, gpu)}});
  if (!f.nvidia.quarantine.empty()) tree.set("quarantine", list_of(f.nvidia.quarantine, quarantined));
  if (f.nvidia.allocated) {
    Tree allocated = Tree::map();
    for (const auto& [uuid, pods] : *f.nvidia.allocated)
      allocated.set(uuid, Tree::list_of(std::vector(pods.begin(), pods.end())));
    tree.set("allocated", std::move(allocated));
  }
  return tree;
}

}  // namespace facts
