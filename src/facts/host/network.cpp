#include "gpuadm/base/network.hpp"

#include "gpuadm/base/text.hpp"

#include "facts/host/firewall.hpp"
#include "facts/host/proc_net.hpp"
#include "facts/read.hpp"
#include "facts/text/words.hpp"

#include <algorithm>
#include <charconv>

namespace facts {

namespace {

int mtu_of(std::string_view text) {
  return static_cast<int>(std::min<std::uint64_t>(count(text).value_or(0), 1u << 20));
}

std::vector<Link> read_sysfs_links(const Sections& sections) {
  std::vector<Link> links;
  for (const std::string_view line : sections.lines("links")) {
    const auto words = base::words(line);
    if (words.empty()) continue;
    auto values = pairs(line);
    links.push_back({.name = std::string(words[0]),
                     .mac = base::lower(values["address"]),
                     .state = values["state"],
                     .mtu = mtu_of(values["mtu"]),
                     .physical = values["physical"] == "yes"});
  }
  return links;
}

/// `ip -o link`: "2: eth0@if5: <BROADCAST,UP> mtu 1500 … state UP … link/ether 02:fc:00:00:00:01 brd …".
std::vector<Link> read_ip_links(const Section& section) {
  std::vector<Link> links;
  for (const std::string_view line : section.lines) {
    const auto words = base::words(line);
    if (words.size() < 2) continue;
    Link link{.name = std::string(words[1].substr(0, words[1].find_first_of("@:")))};
    for (std::size_t i = 2; i + 1 < words.size(); ++i) {
      if (words[i] == "mtu") link.mtu = mtu_of(words[i + 1]);
      if (words[i] == "state") link.state = base::lower(words[i + 1]);
      if (words[i].starts_with("link/")) link.mac = base::lower(words[i + 1]);
    }
    links.push_back(std::move(link));
  }
  return links;
}

/// The output of `ip`; sysfs adds which links are physical. In a container, sysfs may show the links of the
/// machine around it, so a link must have the same name and address.
void read_links(const Sections& sections, Facts& facts) {
  const std::vector<Link> sysfs = read_sysfs_links(sections);
  const Section* ip = sections.find("ip-links");
  facts.network.links = ip && ip->status == 0 ? read_ip_links(*ip) : sysfs;
  for (Link& link : facts.network.links) {
    link.physical = std::any_of(sysfs.begin(), sysfs.end(), [&](const Link& other) {
      return other.physical && other.name == link.name && other.mac == link.mac;
    });
    if (link.physical && !link.mac.empty()) facts.machine.macs.push_back(link.mac);
  }
}

/// "/sys/class/net/eth0/speed 100000"; a link without carrier has -1 or nothing.
void read_link_values(const Sections& sections, Network& network) {
  for (const std::string_view line : sections.lines("link-values")) {
    const auto words = base::words(line);
    const auto parts = base::split(words.empty() ? line : words[0], '/');
    if (words.size() != 2 || parts.size() < 6) continue;
    const auto link = std::find_if(network.links.begin(), network.links.end(), [&](const Link& other) {
      return other.physical && other.name == parts[4];
    });
    if (link == network.links.end()) continue;
    const auto value = count(words[1]);
    const std::string_view name = parts.back();
    if (name == "duplex") link->duplex = std::string(words[1]);
    if (!value) continue;
    if (name == "speed" && *value > 0 && *value < 10'000'000) link->speed = static_cast<int>(*value);
    if (name == "carrier_changes") link->changes = value;
    if (name.ends_with("_packets")) link->packets = link->packets.value_or(0) + *value;
    if (name.ends_with("_errors")) link->errors = link->errors.value_or(0) + *value;
  }
}

/// `ip -o addr`: "4: eth0    inet 192.0.2.2/24 brd 192.0.2.255 scope global eth0\ …"
void read_addresses(const Sections& sections, Network& network) {
  for (const std::string_view line : sections.lines("addresses")) {
    const auto words = base::words(line);
    if (words.size() < 4 || (words[2] != "inet" && words[2] != "inet6")) continue;
    Address address{.link = std::string(words[1]), .cidr = std::string(words[3])};
    if (const auto at = address.link.find('@'); at != std::string::npos) address.link.resize(at);
    if (!base::Cidr::parse(address.cidr)) continue;
    for (std::size_t i = 4; i + 1 < words.size(); ++i)
      if (words[i] == "scope" && words[i + 1] == "global") address.global = true;
    network.all_addresses.push_back(std::move(address));
  }
}

/// `ip -o route`: "default via 192.0.2.1 dev eth0 proto dhcp src 192.0.2.2 metric 100", "10.244.0.0/24 dev
/// cni0 …".
void read_routes(const Sections& sections, std::string_view section, bool v6, Network& network) {
  for (const std::string_view line : sections.lines(section)) {
    auto words = base::words(line);
    if (!words.empty() && (words[0] == "blackhole" || words[0] == "unreachable" || words[0] == "multicast"))
      continue;
    if (words.empty()) continue;
    Route route;
    route.destination = words[0] == "default" ? (v6 ? "::/0" : "0.0.0.0/0") : std::string(words[0]);
    if (route.destination.find('/') == std::string::npos) route.destination += v6 ? "/128" : "/32";
    if (!base::Cidr::parse(route.destination)) continue;
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      if (words[i] == "via") route.gateway = std::string(words[i + 1]);
      if (words[i] == "dev") route.link = std::string(words[i + 1]);
      if (words[i] == "src" && base::Cidr::parse(words[i + 1])) route.source = std::string(words[i + 1]);
      if (words[i] == "metric")
        route.metric = static_cast<int>(std::min<std::uint64_t>(count(words[i + 1]).value_or(0), 1u << 30));
    }
    network.route_table.push_back(std::move(route));
  }
}

bool is_default(const Route& route) {
  return route.destination.ends_with("/0");
}

std::string without_prefix(const std::string& cidr) {
  return cidr.substr(0, cidr.find('/'));
}

std::string default_address_of(const Network& network) {
  const Route* best = nullptr;
  const auto better = [&](const Route& route) {
    if (!best) return true;
    const bool v6 = route.destination == "::/0", best_v6 = best->destination == "::/0";
    return v6 != best_v6 ? best_v6 : route.metric < best->metric;
  };
  for (const Route& route : network.route_table)
    if (is_default(route) && better(route)) best = &route;
  if (best && !best->source.empty()) return best->source;
  const auto first_global = [&](bool v6, const std::string& link) -> std::string {
    for (const Address& address : network.all_addresses)
      if (address.global && (link.empty() || address.link == link) &&
          (address.cidr.find(':') != std::string::npos) == v6)
        return without_prefix(address.cidr);
    return {};
  };
  std::string found;
  if (best) found = first_global(best->destination == "::/0", best->link);
  if (found.empty()) found = first_global(false, {});
  if (found.empty()) found = first_global(true, {});
  return found;
}

/// `ss -ltnp`: "LISTEN 0 128 [::]:22 [::]:* users:(("sshd",pid=1,fd=3))".
std::vector<Listener> read_ss(const Section& section) {
  std::vector<Listener> listeners;
  for (const std::string_view line : section.lines) {
    const auto words = base::words(line);
    if (words.size() < 5 || words[0] != "LISTEN") continue;
    const std::size_t colon = words[3].rfind(':');
    if (colon == std::string_view::npos) continue;
    const auto port = count(words[3].substr(colon + 1));
    if (!port || *port > 65535) continue;
    Listener listener{.port = static_cast<int>(*port), .address = std::string(words[3].substr(0, colon))};
    if (const std::size_t quote = line.find("((\""); quote != std::string_view::npos)
      listener.process = std::string(line.substr(quote + 3, line.find('"', quote + 3) - quote - 3));
    listeners.push_back(std::move(listener));
  }
  return listeners;
}

std::optional<Resolver> read_resolver(const Section* section) {
  if (!section) return std::nullopt;
  Resolver resolver;
  for (const std::string_view line : section->lines) {
    const auto words = base::words(line);
    if (words.size() > 1 && words[0] == "nameserver") resolver.nameservers.emplace_back(words[1]);
    if (words.size() > 1 && (words[0] == "search" || words[0] == "domain"))
      resolver.search.assign(words.begin() + 1, words.end());
  }
  return resolver;
}

/// /proc/net/stat/arp_cache: one line per CPU; each begins with the number of entries in hexadecimal.
std::optional<std::uint64_t> read_neighbours(const Sections& sections) {
  std::optional<std::uint64_t> neighbours;
  for (const auto& [path, value] : sections.values("sysfs")) {
    if (path != "/proc/net/stat/arp_cache") continue;
    std::uint64_t entries = 0;
    const std::string_view word = value.substr(0, std::min(value.find(' '), std::size_t{8}));
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), entries, 16);
    if (error == std::errc() && end == word.data() + word.size()) neighbours = entries;
  }
  return neighbours;
}

}  // namespace

void read_network(const Sections& sections, Facts& facts) {
  read_links(sections, facts);
  read_link_values(sections, facts.network);
  if (sections.find("addresses")) {
    read_addresses(sections, facts.network);
    read_routes(sections, "routes", false, facts.network);
    read_routes(sections, "routes6", true, facts.network);
  } else {
    facts.network.route_table = read_proc_routes(sections.lines("/proc/net/route"));
    facts.network.all_addresses =
        read_fib_trie(sections.lines("/proc/net/fib_trie"), facts.network.route_table);
  }
  for (const Address& address : facts.network.all_addresses)
    if (address.global && address.cidr.find(':') == std::string::npos)
      facts.network.addresses.try_emplace(address.link, address.cidr);
  for (const Route& route : facts.network.route_table)
    if (!is_default(route)) facts.network.routes.push_back(route.destination);
  facts.network.default_address = default_address_of(facts.network);
  if (const Section* ss = sections.find("listeners"); ss && ss->status == 0) {
    facts.network.listeners = read_ss(*ss);
  } else if (sections.find("/proc/net/tcp")) {
    facts.network.listeners = read_proc_listeners(sections.lines("/proc/net/tcp"));
    const auto more = read_proc_listeners(sections.lines("/proc/net/tcp6"));
    facts.network.listeners->insert(facts.network.listeners->end(), more.begin(), more.end());
  }
  facts.network.resolver = read_resolver(sections.find("/etc/resolv.conf"));
  facts.network.real_resolver = read_resolver(sections.find("/run/systemd/resolve/resolv.conf"));
  // "unmanaged-devices=interface-name:cali*;interface-name:flannel*"
  const auto unmanaged = [&](const std::string&, const Section& section) {
    for (const auto& [name, value] : assignments(section.text()))  // `+=` leaves a plus at the name
      for (const std::string_view device : base::split(value, ';'))
        if (!device.empty()) facts.network.unmanaged_devices.emplace_back(device);
  };
  sections.each("/etc/NetworkManager/conf.d/", ".conf", unmanaged);
  sections.each("/usr/lib/NetworkManager/conf.d/", ".conf", unmanaged);
  sections.each("/etc/systemd/networkd.conf", "", [&](const std::string&, const Section& section) {
    for (const auto& [name, value] : assignments(section.text())) facts.network.networkd[name] = value;
  });
  for (const char* section : {"environment", "/etc/environment"})
    facts.network.proxies.merge(proxies_of(assignments(sections.text(section).value_or(""))));
  facts.network.firewall = read_firewall(sections);
  facts.network.neighbours = read_neighbours(sections);
}

std::string link_to(const Network& network, std::string_view address) {
  const auto wanted = base::Cidr::parse(address);
  if (!wanted) return {};
  for (const Address& own : network.all_addresses) {
    const auto cidr = base::Cidr::parse(own.cidr);
    const bool itself = own.cidr.substr(0, own.cidr.find('/')) == address;
    if (cidr && own.global && !itself && cidr->v6 == wanted->v6 && cidr->prefix < (cidr->v6 ? 128 : 32) &&
        cidr->contains(*wanted))
      return own.link;
  }
  return {};
}

}  // namespace facts
