#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/proof.hpp"

#include <algorithm>

namespace facts {

namespace {

constexpr std::size_t most_nodes = 4096, most_results = 4096, longest_text = 1000, most_routes = 4096;

std::string printable_of(const base::Tree& tree, std::string_view key) {
  const base::Tree* value = tree.find(key);
  return value ? base::printable(value->text(), longest_text) : std::string();
}

/// Missing columns are empty.
struct Columns {
  std::vector<std::string_view> all;
  [[nodiscard]] std::string text(std::size_t at) const {
    return at < all.size() ? base::printable(base::trim(all[at]), longest_text) : std::string();
  }
};

void add_result(NetworkNode& node, const std::string& line) {
  const auto tree = base::json::read(line, "gpuadm-proof");
  if (!tree || !tree->is_map() || node.results.size() >= most_results) return;
  using Kind = NetworkResult::Kind;
  for (const auto& [key, kind] : {std::pair{"peer", Kind::peer}, {"dns", Kind::dns}, {"api", Kind::api}})
    if (tree->find(key)) {
      node.results.push_back({kind, printable_of(*tree, key), printable_of(*tree, "result") == "pass",
                              printable_of(*tree, "says"), printable_of(*tree, "name"),
                              printable_of(*tree, "server")});
      return;
    }
}

NetworkNode* find(NetworkProof& proof, const std::string& name) {
  const auto place = std::ranges::find(proof.nodes, name, &NetworkNode::name);
  return place == proof.nodes.end() ? nullptr : &*place;
}

void read_row(NetworkProof& proof, const Columns& row) {
  const std::string kind = row.text(0), name = row.text(1);
  if (kind == "dns" && name == "absent") proof.dns_absent = true;
  if (kind == "end") proof.complete = true;
  if (kind == "node" && !find(proof, name) && proof.nodes.size() < most_nodes)
    proof.nodes.push_back({.name = name,
                           .address = row.text(2),
                           .pod_cidr = row.text(3),
                           .ready = row.text(4),
                           .message = row.text(5)});
  NetworkNode* node = find(proof, name);
  if (!node) return;
  if (kind == "pod") {
    node->phase = row.text(2);
    node->pod_address = row.text(3);
    node->trouble = row.text(5);
  } else if (kind == "exec") {
    node->exec_error = row.text(2);
  } else if (kind == "said" && row.all.size() > 2) {
    add_result(*node, std::string(row.all[2]));
  }
}

}  // namespace

const NetworkNode* NetworkProof::node(std::string_view name) const {
  const auto place = std::ranges::find(nodes, name, &NetworkNode::name);
  return place == nodes.end() ? nullptr : &*place;
}

const NetworkNode* NetworkProof::node_of_pod(std::string_view address) const {
  if (address.empty()) return nullptr;
  const auto place = std::ranges::find(nodes, address, &NetworkNode::pod_address);
  return place == nodes.end() ? nullptr : &*place;
}

NetworkProof parse_network_proof(std::string_view output) {
  NetworkProof proof;
  for (const std::string_view line : base::lines(output)) {
    const auto columns = base::split(line, '\t');
    read_row(proof, {{columns.begin(), columns.end()}});
  }
  return proof;
}

PodRoutes parse_pod_routes(std::string_view output) {
  PodRoutes routes;
  for (const std::string_view line : base::lines(output)) {
    if (line.starts_with("node\t"))
      routes.node = base::printable(base::trim(line.substr(5)), longest_text);
    else if (line.starts_with("route\t") && routes.lines.size() < most_routes)
      routes.lines.push_back(base::printable(base::trim(line.substr(6)), longest_text));
  }
  return routes;
}

}  // namespace facts
