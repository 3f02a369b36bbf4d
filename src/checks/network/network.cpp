#include "gpuadm/base/network.hpp"

#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using base::Cidr;

std::vector<facts::Route> default_routes(const facts::Facts& facts) {
  std::vector<facts::Route> routes;
  std::ranges::copy_if(facts.network.route_table, std::back_inserter(routes),
                       [](const facts::Route& route) { return route.destination.ends_with("/0"); });
  return routes;
}

void default_route(const Subject& s, Verdicts& out) {
  if (s.facts.network.all_addresses.empty()) return out.unknown("addresses could not be read");
  const auto routes = default_routes(s.facts);
  if (!routes.empty())
    return out.pass(fmt::format("by {}, address {}", routes.front().link, s.facts.network.default_address));
  const bool named = !s.cluster.control_plane.advertise_address.empty();
  out.fail(
      named || !is_control_plane(s) ? Severity::warning : Severity::blocker, "there is no default route",
      "kubeadm announces the API server at the address of the default route",
      named ? "ip route add default via GATEWAY; without it the host cannot reach registries"
            : "ip route add default via GATEWAY, or set controlPlane.advertiseAddress in the cluster file");
}

std::string address_of(const facts::Address& address) {
  return address.cidr.substr(0, address.cidr.find('/'));
}

/// The value of --node-ip among the kubelet's flags, of two families the first; empty: it is not set.
std::string node_ip_of(std::string_view flags) {
  constexpr std::string_view option = "--node-ip=";
  for (const std::string_view word : base::words(flags))
    if (word.starts_with(option)) {
      const std::string_view value = word.substr(option.size());
      return std::string(value.substr(0, value.find(',')));
    }
  return {};
}

/// A node whose host has got another address.
void address_of_node(const Subject& s, Verdicts& out) {
  const std::string address = node_ip_of(s.facts.kubernetes.kubelet_flags);
  if (address.empty() || address == "0.0.0.0" || address == "::")
    return out.not_applicable("the kubelet has no --node-ip");
  std::vector<std::string> own;
  for (const facts::Address& one : s.facts.network.all_addresses) own.push_back(address_of(one));
  if (own.empty()) return out.unknown("the addresses of the host could not be read");
  if (!has(own, address))
    out.fail(Severity::blocker,
             fmt::format("the host no longer has the address of its node: {} (--node-ip)", address),
             "its addresses: " + list(own),
             "correct --node-ip in /var/lib/kubelet/kubeadm-flags.env, then: systemctl restart kubelet; on a "
             "control plane: gpuadm repair address");
}

void node_ip(const Subject& s, Verdicts& out) {
  if (s.stage == Stage::node) return address_of_node(s, out);
  const std::string& wanted = s.cluster.control_plane.advertise_address;
  if (wanted.empty() || !is_control_plane(s))
    return out.not_applicable("controlPlane.advertiseAddress is not set");
  std::vector<std::string> own;
  for (const facts::Address& address : s.facts.network.all_addresses) own.push_back(address_of(address));
  if (!has(own, wanted))
    out.fail(Severity::blocker, fmt::format("{} is not an address of this host", wanted),
             "its addresses: " + list(own), "set controlPlane.advertiseAddress to one of them, or remove it");
}

/// kubeadm, the kubelet and flannel select the address of the default route, whatever network gpuadm uses.
void node_network(const Subject& s, Verdicts& out) {
  const std::string& used = s.facts.network.default_address;
  const auto& all = s.facts.network.all_addresses;
  if (all.empty() || used.empty()) return out.unknown("the address of the default route could not be read");
  const auto own = std::ranges::find(all, s.host.endpoint.address, address_of);
  const auto chosen = std::ranges::find(all, used, address_of);
  if (own == all.end() || chosen == all.end() || s.cluster.control_plane.advertise_address == used)
    return out.not_applicable("the address in the cluster file is not one of the host's interfaces");
  if (own->link == chosen->link) return out.pass(fmt::format("{} on {}", used, chosen->link));
  std::string remedy = fmt::format(
      "if the nodes reach each other through {}, give its default route the lowest metric", own->link);
  if (is_control_plane(s)) remedy += "; otherwise set controlPlane.advertiseAddress: " + used;
  out.fail(
      is_control_plane(s) ? Severity::warning : Severity::note,
      "the cluster will use another network than the address in the cluster file",
      fmt::format("{} is on {}; the default route is on {}, whose address {} the kubelet and flannel use",
                  s.host.endpoint.address, own->link, chosen->link, used),
      remedy);
}

/// The resolver configuration that the kubelet passes to pods with the host's resolver, such as CoreDNS.
struct PodResolver {
  std::string file;
  const facts::Resolver* said;  ///< nullptr: not read
};

/// kubeadm uses the resolver behind systemd-resolved if that service is running (kubeadm,
/// cmd/kubeadm/app/componentconfigs/kubelet.go).
PodResolver pod_resolver(const Subject& s) {
  if (const base::Tree* file = s.cluster.patches.kubelet.find("resolvConf")) return {file->text(), nullptr};
  if (is_active(s.facts, "systemd-resolved.service") && s.facts.network.real_resolver)
    return {"/run/systemd/resolve/resolv.conf", &*s.facts.network.real_resolver};
  return {"/etc/resolv.conf", s.facts.network.resolver ? &*s.facts.network.resolver : nullptr};
}

/// CoreDNS forwards to the host's name servers, and exits without one.
bool will_run_coredns(const Subject& s) {
  const base::Tree* disabled = s.cluster.patches.cluster_configuration.at({"dns", "disabled"});
  return is_control_plane(s) && s.stage == Stage::preflight && !s.facts.kubernetes.kubelet_conf &&
         !s.decisions.without_dns && !(disabled && disabled->text() == "true");
}

void resolv_conf(const Subject& s, Verdicts& out) {
  const auto [file, resolver] = pod_resolver(s);
  if (s.cluster.patches.kubelet.find("resolvConf")) return out.pass("patches.kubelet names " + file);
  if (!resolver) return out.unknown(file + " could not be read");
  // kubelet and kube-apiserver limits: 3 name servers, 32 search domains, 2048 characters.
  if (resolver->nameservers.empty())
    out.fail(will_run_coredns(s) ? Severity::blocker : Severity::warning,
             s.decisions.without_dns ? "no name server is set"
                                     : "no name server is set, and CoreDNS does not start without one",
             file, "add one to " + file + ", or use the distribution's resolver");
  if (resolver->nameservers.size() > 3)
    out.fail(Severity::warning, "more than three name servers are set: pods use the first three",
             list(resolver->nameservers), "keep three of them in " + file);
  if (resolver->search.size() > 32 || base::join(resolver->search, " ").size() > 2048)
    out.fail(Severity::warning, "more search domains are set than a pod can have",
             fmt::format("{} domains", resolver->search.size()),
             "keep at most 32 domains and 2048 characters in " + file);
}

void coredns_loop(const Subject& s, Verdicts& out) {
  const auto [file, resolver] = pod_resolver(s);
  if (s.cluster.patches.kubelet.find("resolvConf")) return out.pass("patches.kubelet names " + file);
  if (!resolver) return out.unknown(file + " could not be read");
  for (const std::string& server : resolver->nameservers)
    if (server.starts_with("127.") || server == "::1")
      return out.fail(Severity::warning, "CoreDNS forwards external names to itself",
                      file + " names " + server,
                      "write the real name servers to a file, and set patches: { kubelet: { resolvConf: FILE "
                      "} } in the cluster file");
}

/// Whether NO_PROXY covers a network, an address or a domain.
bool covered(const std::vector<std::string_view>& entries, const std::string& wanted) {
  const auto net = Cidr::parse(wanted);
  return std::ranges::any_of(entries, [&](std::string_view raw) {
    const std::string entry(base::trim(raw));
    if (entry.empty()) return false;
    if (entry == "*" || entry == wanted) return true;
    const auto other = Cidr::parse(entry);
    if (net && other) return other->contains(*net);
    const std::string_view domain = std::string_view(entry).substr(entry.starts_with('.') ? 1 : 0);
    return !net && (wanted.ends_with("." + std::string(domain)) || wanted == domain);
  });
}

/// The value of a proxy variable in either spelling.
std::string value_of(const std::map<std::string, std::string>& variables, const std::string& name) {
  for (const auto& [key, value] : variables)
    if (base::lower(key) == name) return value;
  return {};
}

bool has_proxy(const std::map<std::string, std::string>& variables) {
  return !value_of(variables, "http_proxy").empty() || !value_of(variables, "https_proxy").empty();
}

std::vector<std::string> uncovered(const Subject& s, const std::map<std::string, std::string>& variables) {
  const std::string no_proxy = value_of(variables, "no_proxy");
  const auto entries = base::split(no_proxy, ',');
  const auto& network = s.cluster.network;
  std::vector<std::string> missing;
  for (const std::string& wanted : {network.pod_cidr, network.service_cidr, s.facts.network.default_address})
    if (!wanted.empty() && !covered(entries, wanted)) missing.push_back(wanted);
  for (const std::string& domain : {std::string("svc"), network.dns_domain})
    if (!covered(entries, "kubernetes." + domain)) missing.push_back("." + domain);
  return missing;
}

std::string engine_unit(const Subject& s) {
  return std::string(spec::row_of(s.cluster.runtime.engine).unit);
}

void proxy_covers(const Subject& s, Verdicts& out) {
  const auto unit = s.facts.software.units.find(engine_unit(s));
  const auto& own =
      unit == s.facts.software.units.end() ? std::map<std::string, std::string>{} : unit->second.environment;
  if (!has_proxy(s.facts.network.proxies) && !has_proxy(own)) return out.skip("no proxy is set");
  for (const auto& [where, variables] :
       {std::pair{std::string("the login environment"), s.facts.network.proxies}, {engine_unit(s), own}}) {
    if (!has_proxy(variables)) continue;
    if (const auto missing = uncovered(s, variables); !missing.empty())
      out.fail(Severity::warning, fmt::format("{} sends traffic inside the cluster to the proxy", where),
               "NO_PROXY lacks " + list(missing), "add to NO_PROXY: " + base::join(missing, ","));
  }
}

void proxy(const Subject& s, Verdicts& out) {
  const auto unit = s.facts.software.units.find(engine_unit(s));
  const bool login = has_proxy(s.facts.network.proxies);
  const bool engine = unit != s.facts.software.units.end() && has_proxy(unit->second.environment);
  if (!login && !engine) return out.pass("no proxy is set");
  if (login && !engine)
    return out.fail(
        Severity::warning, "the container runtime does not have the proxy settings of the login",
        fmt::format("{} in the login environment, none in {}", list({"http_proxy or https_proxy"}),
                    engine_unit(s)),
        fmt::format("write /etc/systemd/system/{}.d/proxy.conf with [Service] and Environment= lines, then: "
                    "systemctl daemon-reload && systemctl restart {}",
                    engine_unit(s), engine_unit(s)));
  out.pass("the container runtime has its own proxy settings");
}

constexpr std::array network_rows = std::to_array<Check>({
    {"net.default-route", "there is a default route", "kubeadm announces the API server at its address",
     "routes /proc/net/route", preflight, default_route},
    {"net.node-ip-correct", "the advertised address is an address of the host",
     "the API server is reached at this address, and the node at its own",
     "addresses /proc/net/fib_trie /var/lib/kubelet/kubeadm-flags.env /etc/default/kubelet", preflight | node,
     node_ip},
    {"net.node-network", "the cluster uses the network of the address in the cluster file",
     "nodes that have several networks reach each other through one of them", "addresses routes", preflight,
     node_network},
    {"net.resolv-conf-valid", "the host's resolver configuration works for pods",
     "the kubelet passes it to pods and truncates it at its limits",
     "/etc/resolv.conf /run/systemd/resolve/resolv.conf", preflight | node, resolv_conf},
    {"net.coredns-loop", "CoreDNS has an upstream name server",
     "a loopback address in a pod is the pod itself", "/etc/resolv.conf /run/systemd/resolve/resolv.conf",
     preflight | node, coredns_loop},
    {"host.env.proxy", "the container runtime has proxy settings", "it pulls images through the proxy",
     "environment /etc/environment units /etc/systemd/system/*", preflight, proxy},
    {"net.proxy-covers-cluster-cidr", "traffic inside the cluster bypasses the proxy",
     "a proxy outside the cluster cannot reach pods and Services",
     "environment /etc/environment units addresses", preflight, proxy_covers},
});

}  // namespace

std::span<const Check> network_checks() {
  return network_rows;
}

}  // namespace checks
