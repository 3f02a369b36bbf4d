#include "facts/tree/tree.hpp"

namespace facts {

namespace {

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

Tree state(const Facts& f) {
  Tree all = Tree::map_of({{"umask", f.umask}, {"neighbours", tree_of(f.network.neighbours)}});
  for (const Tree& part : {kernel_state_tree(f.kernel), clock_state_tree(f.clock),
                           machine_state_tree(f.machine), security_state_tree(f.security)})
    all.merge(part);
  return all;
}

}  // namespace

base::Tree to_tree(const Facts& facts) {
  Tree tree = Tree::map_of({{"machine", machine_tree(facts)},
                            {"os", os_tree(facts)},
                            {"clock", clock_tree(facts.clock)},
                            {"kernel", kernel_tree(facts)},
                            {"disks", disks_tree(facts.storage)},
                            {"mounts", mounts_tree(facts.storage)},
                            {"state", state(facts)},
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
