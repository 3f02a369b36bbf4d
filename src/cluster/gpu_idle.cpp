#include "gpuadm/cluster/gpu_idle.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/idle.hpp"
#include "gpuadm/kube/quantity.hpp"
#include "gpuadm/report/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace cluster {

namespace {

using base::Tree;

constexpr std::size_t longest_name = 253;

double epoch_of(base::Time time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

bool has_gpus(const Tree& node) {
  const Tree* capacity = node.at({"status", "capacity"});
  return capacity && std::ranges::any_of(capacity->entries(), [](const auto& one) {
           return one.first.starts_with("nvidia.com/") && one.second.text() != "0";
         });
}

std::string name_at(const Tree& object, std::initializer_list<std::string_view> path) {
  return base::printable(base::text_at(object, path), longest_name);
}

std::string idle_for(const IdleRow& row, base::Time now) {
  const auto since = base::parse_time(row.since);
  return since ? base::human_seconds(std::max(0.0, epoch_of(now) - *since)) : "unknown";
}

std::string holder_of(const IdleRow& row) {
  if (row.pod.empty()) return "(in another namespace)";
  if (!row.workload.empty()) return fmt::format("{} {}/{}", row.kind, row.ns, row.workload);
  return fmt::format("pod {}/{}", row.ns, row.pod);
}

}  // namespace

IdleTable idle_table(std::span<const Tree> nodes, std::span<const Tree> pods, base::Time now) {
  std::map<std::string, const Tree*> by_uid;
  for (const Tree& pod : pods) by_uid.emplace(base::text_at(pod, {"metadata", "uid"}), &pod);
  IdleTable table;
  for (const Tree& node : nodes) {
    const std::string name = name_at(node, {"metadata", "name"});
    if (!reports_health(node, now)) {
      if (has_gpus(node)) table.unknown.push_back(name);
      continue;
    }
    for (const auto& [uid, since] : idle_pods_of_node(node)) {
      IdleRow row{.node = name, .since = since};
      if (const auto found = by_uid.find(uid); found != by_uid.end()) {
        const Tree& pod = *found->second;
        row.ns = name_at(pod, {"metadata", "namespace"});
        row.pod = name_at(pod, {"metadata", "name"});
        row.kind = name_at(pod, {"metadata", "labels", "gpuadm.io/kind"});
        row.workload = name_at(pod, {"metadata", "labels", "gpuadm.io/name"});
        if (const Tree* spec = pod.find("spec")) row.gpus = kube::gpus_in(*spec);
      }
      table.rows.push_back(std::move(row));
    }
  }
  std::ranges::sort(table.rows, {}, [](const IdleRow& row) {
    return std::tuple(base::parse_time(row.since).value_or(0), row.node, row.ns, row.pod);
  });
  return table;
}

std::string to_text(const IdleTable& table, base::Time now, std::size_t width) {
  std::vector<std::vector<std::string>> lines = {{"NODE", "GPUS", "HELD BY", "IDLE FOR", "SINCE"}};
  for (const IdleRow& row : table.rows)
    lines.push_back({row.node, row.gpus > 0 ? std::to_string(row.gpus) : "-", holder_of(row),
                     idle_for(row, now), base::printable(row.since, 40)});
  std::string text = table.rows.empty() ? "" : report::columns(std::move(lines), width, {4, 2});
  if (table.rows.empty() && table.unknown.empty()) text = "every pod that holds GPUs uses them\n";
  for (const std::string& node : table.unknown)
    text += fmt::format("{}: unknown, because its health checks do not report: gpuadm health status\n", node);
  return text;
}

Tree to_tree(const IdleTable& table) {
  Tree rows = Tree::list();
  for (const IdleRow& row : table.rows)
    rows.push(Tree::map_of({{"node", row.node},
                            {"namespace", row.ns},
                            {"pod", row.pod},
                            {"kind", row.kind},
                            {"workload", row.workload},
                            {"gpus", static_cast<std::int64_t>(row.gpus)},
                            {"since", row.since}}));
  return Tree::map_of({{"idle", std::move(rows)}, {"unknown", Tree::list_of(table.unknown)}});
}

}  // namespace cluster
