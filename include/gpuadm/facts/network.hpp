#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace facts {

struct Listener {
  int port = 0;
  std::string address, process;
};

struct Link {
  std::string name, mac, state;
  int mtu = 0;
  bool physical = false;                         ///< has a device behind it
  std::optional<int> speed;                      ///< Mbit/s; of physical links, as all below
  std::string duplex;                            ///< "full", "half", "unknown"
  std::optional<std::uint64_t> changes;          ///< number of carrier changes
  std::optional<std::uint64_t> packets, errors;  ///< both directions
};

struct Address {
  std::string link, cidr;  ///< "eth0", "192.0.2.2/24"
  bool global = false;
};

struct Route {
  std::string destination;  ///< CIDR; "0.0.0.0/0" and "::/0" are the default routes
  std::string link, gateway, source;
  int metric = 0;
};

struct Resolver {
  std::vector<std::string> nameservers, search;
};

/// A zone of firewalld, as it is applied: `firewall-cmd --list-all-zones`.
struct FirewallZone {
  std::string name, target;                      ///< target: "default", "ACCEPT", "DROP", "%%REJECT%%"
  std::vector<std::string> interfaces, sources;  ///< whose packets belong to the zone
  std::vector<std::string> services, ports;      ///< that it accepts: "ssh", "6443/tcp"
};

/// A base chain of nftables that filters what arrives at the host or is forwarded by it: `nft list chain`.
/// Those of iptables-nft are not among them.
struct NftChain {
  std::string family, table, name;  ///< "inet", "filter", "forward"
  std::string hook;                 ///< "input", "forward"
  std::string policy;               ///< "accept", "drop"
  std::vector<std::string> rules;   ///< one a line, as nft writes them
};

struct Firewall {
  std::optional<std::string> iptables;              ///< version
  std::string backend;                              ///< of iptables: "nf_tables" or "legacy"; empty: unknown
  std::vector<std::string> legacy_tables;           ///< tables of the legacy backend in the kernel
  std::optional<bool> ufw;                          ///< enabled in /etc/ufw/ufw.conf
  std::string ufw_forward;                          ///< DEFAULT_FORWARD_POLICY
  std::string default_zone;                         ///< of firewalld, for interfaces that no zone names
  std::optional<std::vector<FirewallZone>> zones;   ///< of firewalld, if it runs
  std::map<std::string, std::string> policies;      ///< of INPUT, FORWARD and OUTPUT in the table filter
  std::vector<std::string> rules;                   ///< of the same, as iptables-save writes them
  std::optional<std::vector<NftChain>> nft_chains;  ///< nothing: nft is not installed, or failed
};

struct Network {
  std::vector<Link> links;
  std::map<std::string, std::string> addresses;  ///< interface -> address/prefix (first global IPv4)
  std::vector<Address> all_addresses;
  std::string default_address;      ///< source address of the default route, or of the first global one
  std::vector<std::string> routes;  ///< destinations, CIDR
  std::vector<Route> route_table;   ///< the same with all properties, including default routes
  std::optional<std::vector<Listener>> listeners;
  std::optional<Resolver> resolver;            ///< /etc/resolv.conf
  std::optional<Resolver> real_resolver;       ///< behind systemd-resolved
  std::map<std::string, std::string> proxies;  ///< proxy variables of the login and /etc/environment
  Firewall firewall;
  std::optional<std::uint64_t> neighbours;      ///< entries of the ARP table
  std::vector<std::string> unmanaged_devices;   ///< devices that NetworkManager does not manage
  std::map<std::string, std::string> networkd;  ///< ManageForeign… settings
};

/// The interface with an address in the same network as this one; empty if none has.
[[nodiscard]] std::string link_to(const Network& network, std::string_view address);

}  // namespace facts
