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

Tree zone(const FirewallZone& z) {
  return Tree::map_of({{"name", z.name},
                       {"target", z.target},
                       {"interfaces", Tree::list_of(z.interfaces)},
                       {"sources", Tree::list_of(z.sources)},
                       {"services", Tree::list_of(z.services)},
                       {"ports", Tree::list_of(z.ports)}});
}

Tree nft_chain(const NftChain& c) {
  return Tree::map_of({{"family", c.family},
                       {"table", c.table},
                       {"name", c.name},
                       {"hook", c.hook},
                       {"policy", c.policy},
                       {"rules", Tree::list_of(c.rules)}});
}

}  // namespace

Tree network_tree(const Facts& f) {
  const Firewall& w = f.network.firewall;
  Tree firewall = Tree::map_of({{"iptables", tree_of(w.iptables)},
                                {"backend", w.backend},
                                {"legacyTables", Tree::list_of(w.legacy_tables)},
                                {"ufw", tree_of(w.ufw)},
                                {"ufwForward", w.ufw_forward},
                                {"defaultZone", w.default_zone},
                                {"zones", w.zones ? list_of(*w.zones, zone) : Tree()},
                                {"policies", map_of(w.policies)},
                                {"rules", Tree::list_of(w.rules)},
                                {"nftChains", w.nft_chains ? list_of(*w.nft_chains, nft_chain) : Tree()}});
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

}  // namespace facts
