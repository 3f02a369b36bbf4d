#include "gpuadm/base/text.hpp"

#include "checks/check.hpp"
#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace checks {

namespace {

using Values = std::vector<std::string> (*)(const facts::Facts&);

/// Whether two hosts of the file are the same machine: a clone has its own address.
bool is_same_machine(const facts::Facts& a, const facts::Facts& b) {
  return !a.machine.id.empty() && a.machine.id != "uninitialized" && a.machine.id == b.machine.id &&
         a.machine.hostname == b.machine.hostname && !a.network.default_address.empty() &&
         a.network.default_address == b.network.default_address;
}

/// Each machine with all its names; by the first of them.
std::map<std::string, std::vector<std::string>> machines(const Group& group) {
  std::map<std::string, std::vector<std::string>> found;
  for (const auto& [name, facts] : group.hosts) {
    const auto known = std::ranges::find_if(
        found, [&](const auto& one) { return is_same_machine(*group.hosts.at(one.first), *facts); });
    (known == found.end() ? found[name] : known->second).push_back(name);
  }
  return found;
}

using Holders = std::map<std::string, std::set<std::string>>;

/// The values that several hosts share, with these hosts.
Holders shared(const Group& group, Values values) {
  Holders holders;
  for (const auto& [name, names] : machines(group))
    for (const std::string& value : values(*group.hosts.at(name))) holders[value].insert(name);
  std::erase_if(holders, [](const auto& one) { return one.second.size() < 2; });
  return holders;
}

void report_shared(const Holders::value_type& one, Verdicts& out, std::string_view what, Severity severity,
                   const std::string& remedy) {
  const auto& [value, names] = one;
  out.fail(severity, fmt::format("{} hosts have the same {}", names.size(), what),
           fmt::format("{}: {}", value, list({names.begin(), names.end()})), remedy);
}

/// Reports hosts that share a value that must be unique.
void unique(const Group& group, Verdicts& out, std::string_view what, Severity severity,
            const std::string& remedy, Values values) {
  for (const auto& one : shared(group, values)) report_shared(one, out, what, severity, remedy);
}

void unique_hostname(const Group& group, Verdicts& out) {
  unique(group, out, "host name", Severity::blocker, "hostnamectl set-hostname NAME on all but one of them",
         [](const facts::Facts& f) {
           return f.machine.hostname.empty() ? std::vector<std::string>{}
                                             : std::vector{base::lower(f.machine.hostname)};
         });
}

/// Whether the link, or a bond, bridge or VLAN that has its MAC address, has a global address. A link without
/// one connects to no other host: the USB link to a machine's management controller has the same MAC address
/// in all machines of a model.
bool is_in_network(const facts::Network& network, const std::string& mac) {
  return std::ranges::any_of(network.all_addresses, [&](const facts::Address& address) {
    return address.global && !address.cidr.starts_with("169.254.") &&
           std::ranges::any_of(network.links, [&](const facts::Link& link) {
             return link.name == address.link && link.mac == mac;
           });
  });
}

void unique_mac(const Group& group, Verdicts& out) {
  unique(group, out, "MAC address", Severity::blocker, "give each cloned virtual machine its own MAC address",
         [](const facts::Facts& f) {
           auto macs = f.machine.macs;
           std::erase_if(macs, [&](const std::string& mac) {
             return mac == "00:00:00:00:00:00" || !is_in_network(f.network, mac);
           });
           return macs;
         });
}

/// Firmware without a UUID reports one byte repeated, or AMI's placeholder in one of two byte orders.
bool is_filler(std::string uuid) {
  std::erase(uuid, '-');
  uuid = base::lower(uuid);
  if (uuid.size() != 32) return true;
  bool repeated = true;
  for (std::size_t i = 2; i < uuid.size(); ++i) repeated = repeated && uuid[i] == uuid[i % 2];
  return repeated || uuid == "03000200040005000006000700080009" || uuid == "00020003000400050006000700080009";
}

/// On bare metal, a shared UUID comes from the firmware and not from a clone.
void unique_product_uuid(const Group& group, Verdicts& out) {
  const Holders holders = shared(group, [](const facts::Facts& f) {
    return is_filler(f.machine.product_uuid) ? std::vector<std::string>{}
                                             : std::vector{f.machine.product_uuid};
  });
  for (const auto& one : holders) {
    const bool metal = std::ranges::all_of(one.second, [&](const std::string& name) {
      return group.hosts.at(name)->os.virtualization == "none";
    });
    report_shared(one, out, "product UUID", metal ? Severity::warning : Severity::blocker,
                  metal ? "set the UUID of each machine with the firmware tool of its vendor, and compare: "
                          "cat /sys/class/dmi/id/product_uuid"
                        : "give each cloned virtual machine its own UUID");
  }
}

void unique_machine_id(const Group& group, Verdicts& out) {
  for (const auto& [name, names] : machines(group))
    if (names.size() > 1)
      out.fail(Severity::blocker, fmt::format("{} are the same machine", base::join(names, " and ")),
               fmt::format("machine id {}, host name {}", group.hosts.at(name)->machine.id,
                           group.hosts.at(name)->machine.hostname),
               "keep only one of them in the cluster file");
  unique(group, out, "machine id", Severity::warning,
         "on all but one: rm /etc/machine-id && systemd-machine-id-setup, then reboot",
         [](const facts::Facts& f) {
           const bool none = f.machine.id.empty() || f.machine.id == "uninitialized";
           return none ? std::vector<std::string>{} : std::vector{f.machine.id};
         });
}

/// etcd warns from 1 s on; certificates of one host may not yet be valid on another.
constexpr double much_skew = 2.0, some_skew = 0.5;
/// Certificates that kubeadm makes are valid from the time of their host on.
constexpr double much_to_client = 60;

void time_skew(const Group& group, Verdicts& out) {
  std::string first, last;
  double low = 0, high = 0;
  for (const auto& [name, facts] : group.hosts) {
    if (!facts->clock.offset) continue;
    if (first.empty() || *facts->clock.offset < low) low = *(facts->clock.offset), first = name;
    if (last.empty() || *facts->clock.offset > high) high = *(facts->clock.offset), last = name;
  }
  if (first.empty()) return out.unknown("no host's clock could be read");
  const double skew = high - low;
  const std::string evidence = fmt::format("{} is {:.1f} s ahead of {}", last, skew, first);
  if (skew > some_skew)
    return out.fail(
        skew > much_skew ? Severity::blocker : Severity::warning, "the clocks of the hosts differ", evidence,
        "systemctl enable --now systemd-timesyncd (or chrony) on every host, and wait until they agree");
  if (std::abs(low) > much_to_client)
    return out.fail(
        Severity::warning, "the clocks of the hosts and of this machine differ",
        fmt::format("{} is {} {} this machine", first, base::human_seconds(std::abs(low)),
                    low < 0 ? "behind" : "ahead of"),
        "compare both with a clock: date -u; systemctl enable --now systemd-timesyncd (or chrony)");
  out.pass(fmt::format("all clocks are within {:.2f} s", skew));
}

constexpr std::array identity_rows = std::to_array<Check>({
    {"host.identity.unique-hostname", "host names are unique", "a node is identified by its name",
     "/proc/sys/kernel/hostname", preflight, nullptr, unique_hostname},
    {"host.identity.unique-mac", "MAC addresses are unique",
     "machines with the same address disconnect each other", "links ip-links addresses", preflight, nullptr,
     unique_mac},
    {"host.identity.unique-product-uuid", "product UUIDs are unique",
     "some network plugins identify nodes by it", "/sys/class/dmi/id/product_uuid", preflight, nullptr,
     unique_product_uuid},
    {"host.identity.unique-machine-id", "machine ids are unique",
     "DHCP, the journal and some network plugins use it", "/etc/machine-id", preflight, nullptr,
     unique_machine_id},
    {"host.time.skew", "the clocks of all hosts agree", "etcd and certificates fail when clocks differ",
     "clock clock-end", preflight, nullptr, time_skew},
});

}  // namespace

std::span<const Check> identity_checks() {
  return identity_rows;
}

}  // namespace checks
