#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/health_state.hpp"
#include "gpuadm/report/columns.hpp"

#include <algorithm>
#include <cmath>

namespace cluster {

namespace {

using base::Tree;

std::string entry_status(std::span<const HealthCondition> conditions, std::string_view type) {
  const auto found = std::ranges::find(conditions, type, &HealthCondition::type);
  return found == conditions.end() ? "-" : base::printable(found->status, 20);
}

Tree statuses_of(std::span<const HealthCondition> conditions) {
  Tree statuses = Tree::map();
  for (const HealthCondition& one : conditions) statuses.set(one.type, one.status);
  return statuses;
}

}  // namespace

std::string history_line(const Moment& now, const HealthState& state, const std::string& note) {
  Tree line = Tree::map_of({{"at", now.at},
                            {"uptime", std::int64_t{std::llround(now.uptime)}},
                            {"conditions", statuses_of(state.conditions)},
                            {"gpus", to_tree(state.gpu_states)},
                            {"first", state.first}});
  if (!note.empty()) line.set("note", note);
  return base::json::write(line, 0) + "\n";
}

History read_history(const std::string& host, std::string_view text) {
  History history;
  for (const std::string_view line : base::lines(text)) {
    if (base::trim(line).empty()) continue;
    if (constexpr std::string_view state = "state "; line.starts_with(state)) {
      if (const auto tree = base::json::read(line.substr(state.size()), "state.json"))
        history.last = state_in(*tree).last.at;
      continue;
    }
    const auto tree = base::json::read(line, "history");
    if (!tree || base::text_of(*tree, "at").empty()) {
      ++history.damaged;
      continue;
    }
    HistoryEntry entry{.host = host,
                       .at = base::text_of(*tree, "at"),
                       .first = base::text_of(*tree, "first"),
                       .note = base::text_of(*tree, "note")};
    if (const Tree* statuses = tree->find("conditions"))
      for (const auto& [type, status] : statuses->entries())
        entry.conditions.push_back({type, status.text(), "", "", ""});
    if (const Tree* states = tree->find("gpus")) entry.gpus = gpu_states_in(*states);
    history.entries.push_back(std::move(entry));
  }
  return history;
}

Tree to_tree(std::span<const HistoryEntry> entries) {
  Tree list = Tree::list();
  for (const HistoryEntry& entry : entries)
    list.push(Tree::map_of({{"host", entry.host},
                            {"at", entry.at},
                            {"conditions", statuses_of(entry.conditions)},
                            {"gpus", to_tree(entry.gpus)},
                            {"firstBrokenLink", entry.first},
                            {"note", entry.note}}));
  return Tree::map_of({{"history", std::move(list)}});
}

std::string history_table(std::span<const HistoryEntry> entries, std::size_t width) {
  std::vector<std::vector<std::string>> lines = {{"TIME", "HOST", "GPU", "FABRIC", "DRIVER", "WHAT"}};
  for (const HistoryEntry& entry : entries) {
    std::vector<std::string> line = {base::printable(entry.at, 40), base::printable(entry.host, 80)};
    for (const std::string_view type : health_types) line.push_back(entry_status(entry.conditions, type));
    std::string what = entry.first;
    if (!entry.note.empty()) what += (what.empty() ? "" : "; ") + entry.note;
    line.push_back(what.empty() ? "nothing is broken" : base::printable(what, 300));
    lines.push_back(std::move(line));
  }
  return report::columns(std::move(lines), width, {5});
}

}  // namespace cluster
