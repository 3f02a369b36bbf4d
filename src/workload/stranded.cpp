#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/service_pod.hpp"
#include "gpuadm/workload/state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace workload {

namespace {

using base::Tree;

bool is_leaving(const std::string& node, std::span<const std::string> leaving) {
  return std::ranges::find(leaving, node) != leaving.end();
}

std::string name_with_namespace(const Tree& pod) {
  const auto text = [&](const char* name) {
    const Tree* found = pod.at({"metadata", name});
    return found ? found->text() : "";
  };
  return text("namespace") + "/" + text("name");
}

std::string line_of(const WorkloadRow& row) {
  std::string where = row.gpus == "0" ? "" : row.gpus + (row.gpus == "1" ? " GPU" : " GPUs");
  if (!row.node.empty()) where += (where.empty() ? "on " : " on ") + row.node;
  return fmt::format("{} {}/{}{}", noun_of(row.kind), row.ns, row.name,
                     where.empty() ? "" : " (" + where + ")");
}

std::string line_of(const OtherGpuPod& pod) {
  const std::string gpus = pod.gpus == 0   ? "devices by claims"
                           : pod.gpus == 1 ? "1 GPU"
                                           : fmt::format("{} GPUs", pod.gpus);
  return fmt::format("pod {} ({}{})", pod.name, gpus, pod.node.empty() ? "" : " on " + pod.node);
}

/// "gpus", NAMESPACE/NAME, NODE, "PHASE", RESOURCE=COUNT…, separated by tabs.
std::optional<OtherGpuPod> other_pod_in(std::string_view line) {
  const auto cells = base::split(line, '\t');
  if (cells.size() != 5 || cells[0] != "gpus" || cells[1].find('/') == std::string_view::npos)
    return std::nullopt;
  OtherGpuPod pod{base::printable(cells[1], 510), base::printable(cells[2], 253)};
  for (const std::string_view word : base::words(cells[4])) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    if (word.starts_with("nvidia.com/")) pod.gpus += base::to_int(word.substr(equals + 1)).value_or(0);
    pod.claims = pod.claims || word.starts_with("claim=");
  }
  if (pod.gpus <= 0 && !pod.claims) return std::nullopt;
  return pod;
}

/// Reads the lines before the pods. The text after the line "pods"; nothing: there is no such line.
std::optional<std::string_view> read_until_pods(std::string_view output, HostWorkloads& host) {
  constexpr std::size_t most_lines_before = 50000;
  for (std::size_t count = 0; !output.empty() && count <= most_lines_before; ++count) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const std::string_view line = output.substr(0, end);
    output.remove_prefix(std::min(end + 1, output.size()));
    if (line == "pods") return output;
    if (line.starts_with("node ")) host.node = base::printable(base::trim(line.substr(5)), 253);
    if (line.starts_with("plane ")) host.planes.push_back(base::printable(base::trim(line.substr(6)), 253));
    if (line == "silent") host.silent = true;
    if (auto other = other_pod_in(line)) host.others.push_back(std::move(*other));
  }
  return std::nullopt;
}

}  // namespace

HostWorkloads parse_host_of_workloads(std::string_view output) {
  HostWorkloads host;
  (void)read_until_pods(output, host);
  return host;
}

base::Result<HostWorkloads> parse_host_workloads(std::string_view output, const std::string& source) {
  HostWorkloads host;
  const auto pods = read_until_pods(output, host);
  if (!pods) return base::fail(base::Fault::parse, source + ": the list of pods is missing");
  if (base::trim(*pods).empty()) return host;
  const Tree list = TRY(base::json::read(*pods, source));
  const Tree* items = list.find("items");
  if (!items) return base::fail(base::Fault::parse, source + ": the answer is not a list of pods");
  host.pods = items->items();
  return host;
}

std::vector<std::string> stranded(std::span<const HostWorkloads> hosts,
                                  std::span<const std::string> leaving) {
  bool all = false;
  for (const HostWorkloads& host : hosts)
    all = all || (!host.planes.empty() && std::ranges::all_of(host.planes, [&](const std::string& plane) {
            return is_leaving(plane, leaving);
          }));
  std::set<std::string> seen;
  std::vector<Tree> pods;
  for (const HostWorkloads& host : hosts)
    for (const Tree& pod : host.pods) {
      const Tree* node = pod.at({"spec", "nodeName"});
      if (!all && (!node || !is_leaving(node->text(), leaving))) continue;
      if (seen.insert(name_with_namespace(pod)).second) pods.push_back(pod);
    }
  std::vector<std::string> lines;
  for (const WorkloadRow& row : workload_rows(pods))
    // The pods of add-ons are started on other nodes, or end with the cluster as its system pods do.
    if (row.runs && row.kind != addon_kind) lines.push_back(line_of(row));
  for (const HostWorkloads& host : hosts)
    for (const Tree& pod : host.pods) seen.insert(name_with_namespace(pod));
  for (const HostWorkloads& host : hosts)
    for (const OtherGpuPod& pod : host.others)
      if ((all || is_leaving(pod.node, leaving)) && seen.insert(pod.name).second)
        lines.push_back(line_of(pod));
  return lines;
}

}  // namespace workload
