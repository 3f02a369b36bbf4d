#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using facts::RdmaPort;

std::string port_name(const RdmaPort& port) {
  return fmt::format("{} port {}", port.device, port.port);
}

void port_active(const Subject& s, Verdicts& out) {
  if (!has_rdma(s, out)) return;
  std::vector<std::string> down;
  std::size_t active = 0;
  for (const RdmaPort& port : s.facts.rdma.ports) {
    if (port.state == "ACTIVE") {
      ++active;
      if (port.layer == "InfiniBand" && port.width == "1X")
        out.fail(Severity::warning, fmt::format("{} runs on one lane of four", port_name(port)),
                 fmt::format("{} Gbit/s", port.gbps.value_or(0)),
                 "reseat or replace the cable or the transceiver");
    } else if (port.state == "INIT" || port.state == "ARMED") {
      out.fail(Severity::blocker, fmt::format("{} waits for a subnet manager", port_name(port)),
               "state " + port.state,
               "start OpenSM on a switch or a host of this fabric (systemctl start opensm), or check why it "
               "ignores this port");
    } else {
      down.push_back(fmt::format("{} {} ({})", port_name(port), port.state, port.physical));
    }
  }
  if (!down.empty())
    out.fail(active > 0 ? Severity::warning : Severity::note,
             active > 0 ? "not every RDMA port is up" : "no RDMA port is up", list(down),
             "connect a cable, or check the switch's port; for unused ports: devlink dev eswitch, or remove "
             "the card from NCCL_IB_HCA");
}

/// Averages since boot; an uptime of less than a day counts as one day.
constexpr double flaps_a_day = 5, carrier_changes_a_day = 10;
constexpr double symbols_an_hour = 120, recoveries_a_minute = 5, errors_a_second = 10;

void port_flap(const Subject& s, Verdicts& out) {
  if (!has_rdma(s, out)) return;
  if (!s.facts.kernel.uptime) return out.unknown("/proc/uptime could not be read");
  const double days = std::max(1.0, *s.facts.kernel.uptime / 86400);
  for (const RdmaPort& port : s.facts.rdma.ports) {
    const auto link = std::ranges::find(s.facts.network.links, port.link, &facts::Link::name);
    const double changes =
        link == s.facts.network.links.end() ? 0 : static_cast<double>(link->changes.value_or(0));
    const auto downs = static_cast<double>(port.link_downed.value_or(0));
    if (downs > flaps_a_day * days || changes > carrier_changes_a_day * days)
      out.fail(Severity::warning, fmt::format("the link of {} goes down repeatedly", port_name(port)),
               fmt::format("{:.0f} times, {:.0f} carrier changes, {} since boot", downs, changes,
                           base::human_seconds(*s.facts.kernel.uptime)),
               "replace the cable or the transceiver; the switch's log shows the other end");
  }
}

void port_counters(const Subject& s, Verdicts& out) {
  if (!has_rdma(s, out)) return;
  if (!s.facts.kernel.uptime) return out.unknown("/proc/uptime could not be read");
  const double seconds = std::max(3600.0, *s.facts.kernel.uptime);
  for (const RdmaPort& port : s.facts.rdma.ports) {
    std::vector<std::string> many;
    const auto check = [&](const char* what, const std::optional<std::uint64_t>& count, double a_second) {
      if (count && static_cast<double>(*count) > a_second * seconds)
        many.push_back(fmt::format("{} {}", *count, what));
    };
    check("symbol errors", port.symbol_errors, symbols_an_hour / 3600);
    check("link recoveries", port.recoveries, recoveries_a_minute / 60);
    check("receive errors", port.receive_errors, errors_a_second);
    if (!many.empty())
      out.fail(Severity::warning, fmt::format("{} receives damaged packets", port_name(port)),
               fmt::format("{} in {}", list(many), base::human_seconds(seconds)),
               "clean, reseat or replace the cable or the transceiver");
  }
}

/// RDMA's own MTU of 4096 and its headers.
constexpr int roce_mtu = 4200;

void roce(const Subject& s, Verdicts& out) {
  bool any = false;
  for (const RdmaPort& port : s.facts.rdma.ports) {
    if (port.layer != "Ethernet" || port.state != "ACTIVE") continue;
    any = true;
    if (!port.gid_types.empty() && !has(port.gid_types, "RoCE v2"))
      out.fail(Severity::note,
               fmt::format("{} supports only RoCE v1, which is not routable", port_name(port)),
               list(port.gid_types), "give its network interface an IP address");
    const auto link = std::ranges::find(s.facts.network.links, port.link, &facts::Link::name);
    if (link != s.facts.network.links.end() && link->mtu > 0 && link->mtu < roce_mtu)
      out.fail(
          Severity::note, fmt::format("{} has a small MTU", port_name(port)),
          fmt::format("{} has an MTU of {}", link->name, link->mtu),
          fmt::format("ip link set {} mtu 9000, and the same on switches and all other hosts", link->name));
  }
  if (!any) out.skip("no active RDMA port on Ethernet");
}

/// Whether two devices are below one bridge: pci0000:15/0000:15:01.0/… is a common prefix.
bool share_bridge(const std::string& one, const std::string& other) {
  const auto a = base::split(one, '/'), b = base::split(other, '/');
  return a.size() > 2 && b.size() > 2 && a[0] == b[0] && a[1] == b[1];
}

void card_is_near(const Subject& s, Verdicts& out) {
  if (s.facts.nvidia.pci_gpus.empty() || s.facts.rdma.nics.empty())
    return out.skip("no GPU, or no NVIDIA RDMA card");
  if (!is_bare_metal(s.facts))
    return out.skip("the host is not known to be bare metal; the position of devices is not visible");
  std::vector<std::string> far;
  std::size_t near = 0;
  for (const facts::PciGpu& gpu : s.facts.nvidia.pci_gpus) {
    bool same_node = false, same_bridge = false;
    for (const facts::PciNic& nic : s.facts.rdma.nics) {
      if (!gpu.numa || !nic.numa) return out.unknown("the NUMA nodes of the devices could not be read");
      same_node = same_node || gpu.numa == nic.numa;
      same_bridge = same_bridge || share_bridge(gpu.place, nic.place);
    }
    if (!same_node) far.push_back(gpu.slot);
    if (same_bridge) ++near;
  }
  if (!far.empty())
    return out.fail(Severity::note, "some GPUs have no network card at their NUMA node", list(far),
                    "move a card to a slot of that NUMA node; nvidia-smi topo -m shows the pairs");
  out.pass(fmt::format("{} of {} GPUs share a PCI bridge with a card, all share a NUMA node", near,
                       s.facts.nvidia.pci_gpus.size()));
}

constexpr std::array rdma_port_rows = std::to_array<Check>({
    {"rdma.port.active", "RDMA ports are up", "NCCL waits for each of them", "rdma pci", node, port_active},
    {"rdma.port.flap", "RDMA links do not go down", "a job fails with its link", "rdma pci", node, port_flap},
    {"rdma.port.counters", "RDMA ports receive no damaged packets", "damaged packets are sent again",
     "rdma pci", node, port_counters},
    {"rdma.roce.lossless", "RoCE ports use routable, large packets",
     "the defaults of Ethernet are not routable and have a small MTU", "rdma pci links ip-links", node, roce},
    {"rdma.nccl.topology", "every GPU has a network card near it", "transfers between NUMA nodes are slow",
     "rdma pci virtualization", node, card_is_near},
});

}  // namespace

std::span<const Check> rdma_port_checks() {
  return rdma_port_rows;
}

}  // namespace checks
