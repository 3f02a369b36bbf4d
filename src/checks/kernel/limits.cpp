#include "checks/kernel/limits.hpp"

#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

/// A kernel parameter that limits a resource, and the current use.
struct Limit {
  const char* key;
  const char* what;
  std::optional<long long> (*used)(const facts::Facts&);
  int percent;               ///< of the limit: higher use is a warning; 0: use is not measured
  long long least, advised;  ///< a lower limit is a note, with the recommended value
  const char* effect;
};

std::optional<long long> not_counted(const facts::Facts&) {
  return std::nullopt;
}
std::optional<long long> open_files(const facts::Facts& facts) {
  return sysctl_of(facts, "fs.file-nr");
}
std::optional<long long> threads(const facts::Facts& facts) {
  return facts.kernel.threads ? std::optional(static_cast<long long>(*facts.kernel.threads)) : std::nullopt;
}
std::optional<long long> connections(const facts::Facts& facts) {
  return sysctl_of(facts, "net.netfilter.nf_conntrack_count");
}
std::optional<long long> neighbours(const facts::Facts& facts) {
  return facts.network.neighbours ? std::optional(static_cast<long long>(*facts.network.neighbours))
                                  : std::nullopt;
}

constexpr Limit file_max{"fs.file-max",
                         "open files",
                         open_files,
                         80,
                         1000000,
                         2097152,
                         "programs cannot open files: 'too many open files in system'"};
constexpr Limit pid_max{"kernel.pid_max",
                        "processes and threads",
                        threads,
                        80,
                        32768,
                        4194304,
                        "no program can start: 'fork: resource temporarily unavailable'"};
constexpr Limit map_count{"vm.max_map_count",
                          "memory maps of a process",
                          not_counted,
                          0,
                          262144,
                          memory_maps,
                          "frameworks that map many files fail with 'cannot allocate memory'"};
constexpr Limit conntrack{"net.netfilter.nf_conntrack_max",
                          "tracked connections",
                          connections,
                          90,
                          0,
                          1048576,
                          "new connections are dropped: 'nf_conntrack: table full'"};
constexpr Limit arp_table{"net.ipv4.neigh.default.gc_thresh3",
                          "ARP entries",
                          neighbours,
                          80,
                          0,
                          8192,
                          "neighbors cannot be reached: 'neighbour table overflow'"};

template <const Limit& limit>
void within(const Subject& s, Verdicts& out) {
  const auto most = sysctl_of(s.facts, limit.key);
  if (!most) return out.unknown(fmt::format("{} could not be read", limit.key));
  const auto used = limit.used(s.facts);
  const long long advised = std::max(limit.advised, *most > (1ll << 60) ? *most : *most * 2);
  const std::string remedy = fmt::format("sysctl -w {}={} | tee -a /etc/sysctl.d/99-gpuadm.conf", limit.key,
                                         used && *most >= limit.least ? advised : limit.advised);
  if (used && static_cast<double>(*used) * 100 >= static_cast<double>(*most) * limit.percent)
    return out.fail(Severity::warning, fmt::format("the {} are almost used up", limit.what),
                    fmt::format("{} of {} ({})", *used, *most, limit.key), remedy);
  if (*most < limit.least)
    return out.fail(Severity::note, fmt::format("the limit on {} is low: {}", limit.what, limit.effect),
                    fmt::format("{} = {}", limit.key, *most), remedy);
  if (limit.percent > 0 && !used)
    return out.unknown(fmt::format("the number of {} could not be read", limit.what));
  out.pass(used ? fmt::format("{} of {}", *used, *most) : fmt::format("{} = {}", limit.key, *most));
}

void rp_filter(const Subject& s, Verdicts& out) {
  const auto all = sysctl_of(s.facts, "net.ipv4.conf.all.rp_filter"),
             fresh = sysctl_of(s.facts, "net.ipv4.conf.default.rp_filter");
  if (!all || !fresh) return out.unknown("net.ipv4.conf.*.rp_filter could not be read");
  // The kernel uses the maximum of `all` and the link's own; 1 is strict, 2 loose.
  if (std::max(*all, *fresh) != 1) return out.pass(fmt::format("all {}, default {}", *all, *fresh));
  std::vector<std::string> links;
  for (const facts::Link& link : s.facts.network.links)
    if (link.physical && s.facts.network.addresses.contains(link.name)) links.push_back(link.name);
  const bool cilium = has_cni(s.facts, "cilium");
  if (links.size() < 2 && !cilium) return out.pass("strict, and all traffic uses one link");
  out.fail(Severity::warning, "the kernel drops packets whose replies leave by another link",
           fmt::format("rp_filter is strict (all {}, default {}) with {}", *all, *fresh,
                       cilium ? "Cilium" : "addresses on " + list(links)),
           "sysctl -w net.ipv4.conf.all.rp_filter=2 net.ipv4.conf.default.rp_filter=2 | tee -a "
           "/etc/sysctl.d/99-gpuadm.conf");
}

/// kubernetes pkg/kubelet/cm/container_manager_linux.go, setupKernelTunables
constexpr std::array protected_defaults = {std::pair{"vm.overcommit_memory", 1ll},
                                           std::pair{"vm.panic_on_oom", 0ll},
                                           std::pair{"kernel.panic", 10ll},
                                           std::pair{"kernel.panic_on_oops", 1ll},
                                           std::pair{"kernel.keys.root_maxkeys", 1000000ll},
                                           std::pair{"kernel.keys.root_maxbytes", 25000000ll}};

void kubelet_protect(const Subject& s, Verdicts& out) {
  const auto& on_host = s.facts.kubernetes.kubelet_config;
  const base::Tree* protect = s.cluster.patches.kubelet.find("protectKernelDefaults");
  if (s.stage == Stage::node && on_host) protect = on_host->find("protectKernelDefaults");
  if (!protect || protect->as_bool() != true)
    return out.skip("protectKernelDefaults is not set: the kubelet sets them itself");
  std::vector<std::string> wrong, wanted;
  for (const auto& [key, value] : protected_defaults)
    if (const auto now = sysctl_of(s.facts, key); now && *now != value) {
      wrong.push_back(fmt::format("{} = {}", key, *now));
      wanted.push_back(fmt::format("{}={}", key, value));
    } else if (!now) {
      return out.unknown(fmt::format("{} could not be read", key));
    }
  if (!wrong.empty())
    out.fail(
        Severity::blocker,
        "kernel parameters differ from the kubelet's defaults, and protectKernelDefaults keeps it from "
        "starting",
        list(wrong),
        fmt::format("sysctl -w {} | tee -a /etc/sysctl.d/99-gpuadm.conf; or set protectKernelDefaults: false",
                    base::join(wanted, " ")));
}

void numa_balancing(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  const auto value = sysctl_of(s.facts, "kernel.numa_balancing");
  if (!value) return out.unknown("kernel.numa_balancing could not be read");
  int nodes = 0;
  for (const facts::FreeBlocks& zone : s.facts.kernel.free_blocks) nodes = std::max(nodes, zone.node + 1);
  if (nodes > 1 && *value != 0)
    return out.fail(Severity::note, "the kernel moves memory between NUMA nodes while GPU programs run",
                    fmt::format("kernel.numa_balancing = {}, {} NUMA nodes", *value, nodes),
                    "sysctl -w kernel.numa_balancing=0 | tee -a /etc/sysctl.d/99-gpuadm.conf");
  out.pass(nodes > 1 ? "off" : "one NUMA node");
}

constexpr std::array limit_rows = std::to_array<Check>({
    {"kernel.sysctl.file-max", "the limit on open files is high enough",
     "every socket and open file of every pod counts", "sysctl", preflight | node, within<file_max>},
    {"kernel.sysctl.pid-max", "the limit on processes is high enough",
     "every thread of every pod uses a process number", "sysctl", preflight | node, within<pid_max>},
    {"kernel.sysctl.max-map-count", "a process may have many memory maps",
     "frameworks and databases map thousands of files", "sysctl", preflight, within<map_count>},
    {"kernel.sysctl.conntrack-usage", "the connection tracking table has free entries",
     "a full table drops every new connection", "sysctl", node, within<conntrack>},
    {"kernel.sysctl.arp-neigh", "the ARP table has free entries",
     "nodes and pods are unreachable when the table is full", "sysctl sysfs", preflight | node,
     within<arp_table>},
    {"kernel.sysctl.rp-filter", "replies can leave by another link", "hosts with several networks need it",
     "sysctl addresses links ip-links /etc/cni/net.d/", preflight, rp_filter},
    {"kernel.sysctl.kubelet-protect", "kernel parameters match the kubelet's defaults",
     "with protectKernelDefaults it does not start otherwise",
     "sysctl /var/lib/kubelet/* /etc/default/kubelet", preflight | node, kubelet_protect},
    {"kernel.numa.balancing", "the kernel does not move memory between NUMA nodes",
     "moving pages stalls GPU programs", "sysctl /sys/devices/system/node/online /proc/buddyinfo", node,
     numa_balancing},
});

}  // namespace

std::span<const Check> limit_checks() {
  return limit_rows;
}

}  // namespace checks
