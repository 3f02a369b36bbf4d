#include "facts/tree/tree.hpp"

#include "gpuadm/facts/families.hpp"

namespace facts {

namespace {

std::string_view name_of(CgroupVersion version) {
  switch (version) {
    case CgroupVersion::v1:
      return "v1";
    case CgroupVersion::hybrid:
      return "hybrid";
    case CgroupVersion::v2:
      break;
  }
  return "v2";
}

Tree machine(const Facts& f) {
  return Tree::map_of({{"hostname", f.machine.hostname},
                       {"fqdn", f.machine.fqdn},
                       {"resolves", f.machine.resolves ? Tree::list_of(*f.machine.resolves) : Tree()},
                       {"machineId", f.machine.id},
                       {"productUuid", f.machine.product_uuid},
                       {"vendor", f.machine.vendor},
                       {"product", f.machine.product},
                       {"macs", Tree::list_of(f.machine.macs)},
                       {"cpus", f.machine.cpus},
                       {"memoryKib", tree_of(f.machine.memory_kib)},
                       {"virtualization", tree_of(f.os.virtualization)},
                       {"container", tree_of(f.os.container)}});
}

Tree os(const Facts& f) {
  return Tree::map_of({{"id", f.os.id},
                       {"versionId", f.os.version_id},
                       {"codename", f.os.codename},
                       {"pretty", f.os.pretty},
                       {"parentId", f.os.parent_id},
                       {"parentVersionId", f.os.parent_version_id},
                       {"parentCodename", f.os.parent_codename},
                       {"family", row_of(f.os.family).name},
                       {"architecture", f.os.architecture},
                       {"init", f.os.init},
                       {"kernel", f.kernel.release},
                       {"euid", f.euid}});
}

Tree log_line(const LogLine& l) {
  return Tree::map_of({{"seconds", l.seconds}, {"text", l.text}});
}

Tree kernel(const Facts& f) {
  Tree areas = f.kernel.swap ? Tree::list() : Tree();
  if (f.kernel.swap)
    for (const SwapArea& area : *f.kernel.swap)
      areas.push(Tree::map_of({{"path", area.path}, {"type", area.type}, {"kib", area.kib}}));
  return Tree::map_of({{"cgroup", name_of(f.kernel.cgroup)},
                       {"controllers", Tree::list_of(f.kernel.controllers)},
                       {"swap", areas},
                       {"swapFstab", Tree::list_of(f.kernel.swap_fstab)},
                       {"zramGenerator", f.kernel.zram_generator},
                       {"modules", Tree::list_of(f.kernel.modules)},
                       {"modulesBuiltin", Tree::list_of(f.kernel.modules_builtin)},
                       {"modulesLoadable", Tree::list_of(f.kernel.modules_loadable)},
                       {"config", f.kernel.config ? map_of(*f.kernel.config) : Tree()},
                       {"sysctls", map_of(f.kernel.sysctls)},
                       {"uptime", tree_of(f.kernel.uptime)},
                       {"numaNodes", f.machine.numa_nodes},
                       {"log", f.kernel.log ? list_of(*f.kernel.log, log_line) : Tree()}});
}

Tree clock(const Clock& c) {
  return Tree::map_of({{"synchronized", tree_of(c.synchronized)}, {"offset", tree_of(c.offset)}});
}

Tree disk(const Disk& d) {
  return Tree::map_of({{"path", d.path},
                       {"type", d.type},
                       {"totalKib", d.total_kib},
                       {"freeKib", d.free_kib},
                       {"inodes", d.inodes},
                       {"inodesFree", d.inodes_free}});
}

Tree mount(const Mount& m) {
  return Tree::map_of(
      {{"device", m.device}, {"path", m.path}, {"type", m.type}, {"options", Tree::list_of(m.options)}});
}

Tree link(const Link& l) {
  return Tree::map_of({{"name", l.name},
                       {"mac", l.mac},
                       {"mtu", l.mtu},
                       {"state", l.state},
                       {"physical", l.physical},
                       {"speed", tree_of(l.speed)},
                       {"duplex", l.duplex},
                       {"changes", tree_of(l.changes)},
                       {"packets", tree_of(l.packets)},
                       {"errors", tree_of(l.errors)}});
}

Tree address(const Address& a) {
  return Tree::map_of({{"link", a.link}, {"cidr", a.cidr}, {"global", a.global}});
}

Tree route(const Route& r) {
  return Tree::map_of({{"destination", r.destination},
                       {"link", r.link},
                       {"gateway", r.gateway},
                       {"source", r.source},
                       {"metric", r.metric}});
}

Tree listener(const Listener& l) {
  return Tree::map_of({{"port", l.port}, {"address", l.address}, {"process", l.process}});
}

Tree resolver(const std::optional<Resolver>& r) {
  if (!r) return {};
  return Tree::map_of({{"nameservers", Tree::list_of(r->nameservers)}, {"search", Tree::list_of(r->search)}});
}

Tree network(const Facts& f) {
  const Firewall& w = f.network.firewall;
  Tree firewall = Tree::map_of({{"iptables", tree_of(w.iptables)},
                                {"backend", w.backend},
                                {"legacyTables", Tree::list_of(w.legacy_tables)},
                                {"ufw", tree_of(w.ufw)},
                                {"ufwForward", w.ufw_forward},
                                {"policies", map_of(w.policies)},
                                {"rules", Tree::list_of(w.rules)}});
  return Tree::map_of({{"links", list_of(f.network.links, link)},
                       {"addresses", list_of(f.network.all_addresses, address)},
                       {"defaultAddress", f.network.default_address},
                       {"routes", list_of(f.network.route_table, route)},
                       {"listeners", f.network.listeners ? list_of(*f.network.listeners, listener) : Tree()},
                       {"resolver", resolver(f.network.resolver)},
                       {"realResolver", resolver(f.network.real_resolver)},
                       {"proxies", map_of(f.network.proxies)},
                       {"unmanagedDevices", Tree::list_of(f.network.unmanaged_devices)},
                       {"networkd", map_of(f.network.networkd)},
                       {"proxyMode", tree_of(f.kubernetes.proxy_mode)},
                       {"firewall", firewall}});
}

}  // namespace

base::Tree to_tree(const Facts& facts) {
  Tree tree = Tree::map_of({{"machine", machine(facts)},
                            {"os", os(facts)},
                            {"clock", clock(facts.clock)},
                            {"kernel", kernel(facts)},
                            {"disks", list_of(facts.storage.disks, disk)},
                            {"mounts", list_of(facts.storage.mounts, mount)},
                            {"state", state_tree(facts)},
                            {"storage", storage_tree(facts)},
                            {"network", network(facts)},
                            {"rdma", rdma_tree(facts.rdma)},
                            {"software", software_tree(facts)},
                            {"runtimes", runtimes_tree(facts)},
                            {"kubernetes", kubernetes_tree(facts.kubernetes)},
                            {"nvidia", nvidia_tree(facts)},
                            {"gpuadmInstalled", facts.gpuadm_installed},
                            {"unread", map_of(facts.unread)},
                            {"noise", facts.noise}});
  if (facts.kubernetes.pod_states) tree.set("podStates", pod_states_tree(*facts.kubernetes.pod_states));
  return tree;
}

}  // namespace facts
