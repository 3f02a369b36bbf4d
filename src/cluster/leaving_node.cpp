#include "gpuadm/cluster/leaving_node.hpp"

#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cluster {

using base::Fault;

namespace {

/// Values from a node are quoted, with line ends and tabs escaped, so that it cannot impersonate another
/// node.
std::string unquoted(std::string_view text) {
  if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"'))
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

std::vector<std::string> unquoted_words(std::string_view text) {
  std::vector<std::string> all;
  for (const std::string_view word : base::words(text)) all.push_back(unquoted(word));
  return all;
}

bool has_address(const Known& node, const spec::Host& host) {
  return std::ranges::find(node.addresses, host.endpoint.address) != node.addresses.end();
}

/// Whether the node has the host's name or address exactly, not only up to a dot: "gpu" is not "gpu.rack2"
/// then.
bool is_exactly(const Known& node, const spec::Host& host) {
  return base::lower(host.name) == node.name || base::lower(host.endpoint.address) == node.name ||
         has_address(node, host);
}

/// Without the machine id, "gpu.rack2" may be the node "gpu" only if no other host of the file may be it.
Result<> check_only_one(const Known& node, const spec::Host& host, const std::vector<spec::Host>& hosts) {
  if (is_exactly(node, host)) return {};
  for (const spec::Host& other : hosts)
    if (other.name != host.name && is_known_as(node, other))
      return base::fail(
          Fault::blocked, fmt::format("the node {} may be {} or {}", node.name, host.name, other.name),
          fmt::format(
              "kubectl get nodes -o wide shows it: if it is {}, use the node's name in the cluster file",
              host.name));
  return {};
}

/// A host that is removed cannot select the node: its machine id must be that of the node with the host's
/// name or address.
std::unexpected<base::Error> not_its_node(const spec::Host& host, const std::vector<std::string>& by_id,
                                          const std::vector<std::string>& by_name) {
  if (!by_id.empty())
    return base::fail(
        Fault::blocked,
        fmt::format("{} has the machine id of the node {}, but neither its name nor its address", host.name,
                    base::join(by_id, ", ")),
        "kubectl get nodes -o wide: if it is that node, use the node's name in the cluster file; a "
        "host that was tampered with may report another one's machine id");
  return base::fail(
      Fault::blocked,
      fmt::format("{} does not have the machine id of the node {}", host.name, base::join(by_name, ", ")),
      fmt::format("kubectl delete node {}, if the host was reinstalled; then run again", by_name.front()));
}

}  // namespace

bool is_known_as(const Known& node, const spec::Host& host) {
  const auto agrees = [&](const std::string& name) {
    return name == node.name || name.starts_with(node.name + ".") || node.name.starts_with(name + ".");
  };
  return agrees(base::lower(host.name)) || agrees(base::lower(host.endpoint.address)) ||
         has_address(node, host);
}

Nodes read_nodes(std::string_view output) {
  Nodes nodes;
  for (const std::string_view line : base::lines(output)) {
    const auto parts = base::split(line, '\t');
    nodes.routed = nodes.routed || line == "routed";
    if (parts.size() == 3 && base::is_dns_name(parts[0]))
      nodes.all.push_back({std::string(parts[0]), unquoted(parts[1]), unquoted_words(parts[2])});
  }
  return nodes;
}

Result<std::optional<std::string>> node_of(const spec::Host& host, const Result<facts::Facts>& facts,
                                           const std::vector<Known>& nodes,
                                           const std::vector<spec::Host>& hosts) {
  std::vector<std::string> by_id, by_name, found;
  for (const Known& node : nodes) {
    const bool same_id = facts && !facts->machine.id.empty() && node.machine_id == facts->machine.id;
    const bool same_name = is_known_as(node, host);
    if (same_id) by_id.push_back(node.name);
    if (same_name) by_name.push_back(node.name);
    if (same_name && !facts) TRY(check_only_one(node, host, hosts));
    if (same_name && (same_id || !facts)) found.push_back(node.name);
  }
  if (found.empty() && facts && !(by_id.empty() && by_name.empty()))
    return not_its_node(host, by_id, by_name);
  if (found.size() > 1)
    return base::fail(Fault::blocked,
                      fmt::format("{} matches several nodes: {}", host.name, base::join(found, ", ")),
                      "give each machine its own id (gpuadm explain host.identity.unique-machine-id), or a "
                      "name and an address of one node");
  if (found.empty() && !facts)
    return base::fail(
        Fault::blocked,
        fmt::format("the cluster has no node named {} and none at {}", host.name, host.endpoint.address),
        "kubectl get nodes -o wide shows its name: use it in the cluster file");
  return found.empty() ? std::nullopt : std::optional(found.front());
}

}  // namespace cluster
