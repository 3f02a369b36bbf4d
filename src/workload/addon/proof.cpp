#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/addon_proof.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Fault;
using base::Result;
using base::Tree;

constexpr std::size_t longest_cell = 300;

std::string cell(const Tree& tree, std::initializer_list<std::string_view> path) {
  return base::printable(text_at(tree, path), longest_cell);
}

/// `data` of an answer of Prometheus.
Result<Tree> data_of(std::string_view json, const std::string& source) {
  const Tree answer = TRY(base::json::read(json, source));
  const Tree* data = answer.find("data");
  if (text_of(answer, "status") == "success" && data) return *data;
  const std::string error = cell(answer, {"error"});
  return base::fail(Fault::parse, fmt::format("{}: {}", source, error.empty() ? "no result" : error));
}

}  // namespace

Result<std::vector<NodeUse>> read_node_metrics(std::string_view json) {
  const std::string source = "the metrics API";
  const Tree list = TRY(base::json::read(json, source));
  const Tree* items = list.find("items");
  if (text_of(list, "kind") != "NodeMetricsList" || !items || !items->is_list())
    return base::fail(Fault::parse, source + ": the answer is not a list of node metrics");
  std::vector<NodeUse> nodes;
  for (const Tree& item : items->items())
    nodes.push_back(
        {cell(item, {"metadata", "name"}), cell(item, {"usage", "cpu"}), cell(item, {"usage", "memory"})});
  return nodes;
}

std::optional<std::string> find_sample(std::string_view metrics, std::string_view name) {
  for (const std::string_view line : base::lines(metrics)) {
    if (!line.starts_with(name) || line.size() == name.size()) continue;
    const char next = line[name.size()];
    const std::size_t end = next == '{' ? line.rfind('}') : name.size() - 1;
    if ((next != '{' && next != ' ') || end == std::string_view::npos) continue;
    const auto words = base::words(line.substr(end + 1));
    // NaN means that the exporter has no value.
    const auto value = words.empty() ? std::nullopt : base::to_real(words.front());
    if (value && *value == *value) return base::printable(line, longest_cell);
  }
  return std::nullopt;
}

Result<ScrapeTargets> read_targets(std::string_view json) {
  const Tree data = TRY(data_of(json, "the targets of Prometheus"));
  const Tree* active = data.find("activeTargets");
  if (!active || !active->is_list())
    return base::fail(Fault::parse, "the targets of Prometheus: there is no list of active targets");
  ScrapeTargets targets;
  for (const Tree& target : active->items()) {
    const std::string health = text_of(target, "health"), job = cell(target, {"labels", "job"});
    targets.jobs.insert(job);
    constexpr std::size_t to_seconds = 19;  // later times are greater texts
    const std::string scraped = cell(target, {"lastScrape"}).substr(0, to_seconds);
    targets.oldest = targets.oldest.empty() ? scraped : std::min(targets.oldest, scraped);
    targets.newest = std::max(targets.newest, scraped);
    if (health == "up")
      ++targets.up;
    else if (health == "down")
      targets.down.push_back(
          fmt::format("{} {}: {}", job, cell(target, {"scrapeUrl"}), cell(target, {"lastError"})));
    else
      ++targets.unknown;
  }
  return targets;
}

Result<std::optional<double>> read_query(std::string_view json) {
  const Tree data = TRY(data_of(json, "a query of Prometheus"));
  const Tree* results = data.find("result");
  if (!results || !results->is_list())
    return base::fail(Fault::parse, "a query of Prometheus: there is no list of results");
  if (results->items().empty()) return std::optional<double>();
  const Tree* sample = results->items().front().find("value");
  const auto value =
      sample && sample->items().size() == 2 ? base::to_real(sample->items()[1].text()) : std::nullopt;
  if (!value) return base::fail(Fault::parse, "a query of Prometheus: the result has no value");
  return value;
}

Result<HubProof> read_hub_proof(std::string_view output) {
  const auto lines = base::lines(output);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (!line->starts_with("{\"proof\"")) continue;
    const Tree tree = TRY(base::json::read(*line, "the proof of JupyterHub"));
    const Tree* proof = tree.find("proof");
    const Tree* login = proof ? proof->find("login") : nullptr;
    if (!proof || !login || !login->is_bool()) break;
    return HubProof{login->as_bool().value_or(false), cell(*proof, {"pod"}), cell(*proof, {"node"}),
                    cell(*proof, {"gpus"}), cell(*proof, {"failure"})};
  }
  return base::fail(Fault::parse, "the proof of JupyterHub ended without a result: " + base::tail(output, 3));
}

}  // namespace workload
