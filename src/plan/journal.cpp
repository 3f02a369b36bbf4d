#include "gpuadm/base/text.hpp"
#include "gpuadm/plan/undo.hpp"

#include <algorithm>

namespace plan {

Result<Journal> read_journal(std::string_view text) {
  Journal journal;
  bool whole = false;
  for (const std::string_view line : base::lines(text)) {
    const auto fields = base::split(line, '\t');
    const auto field = [&](std::size_t i) { return std::string(fields[i]); };
    if (line == "end") {
      whole = true;
    } else if (fields[0] == "blob" && fields.size() == 2) {
      journal.blobs.insert(field(1));
    } else if (fields[0] == "bad") {
      journal.unreadable.emplace_back(line.substr(line.find('\t') + 1));
    } else if (fields[0] == "now" && fields.size() >= 4) {
      journal.now[{field(1), field(2)}] = field(3);
    } else if (fields[0] == "lost" && fields.size() == 5) {
      journal.lost[{{field(1), field(2)}, field(3)}] = field(4);
    } else if (fields[0] == "log" && fields.size() == 6) {
      if (fields[1].starts_with('+'))
        journal.made[{field(5), {field(1).substr(1), field(2)}}] = field(3);
      else if (fields[1] == "reader")
        journal.readers[field(2)] = field(3);
      else
        journal.lines.push_back({{field(1), field(2)}, field(3), field(4), field(5)});
    }
  }
  if (!whole) return base::fail(base::Fault::parse, "the host's journal was truncated");
  // The first line for an object in a run is used.
  std::set<std::pair<std::string, Thing>> seen;
  std::erase_if(journal.lines,
                [&](const Journal::Line& line) { return !seen.insert({line.run, line.thing}).second; });
  return journal;
}

bool has_unfinished_cluster(const Journal& journal) {
  const auto cluster = journal.now.find({"cluster", "kubeadm"});
  return cluster != journal.now.end() && cluster->second == "unfinished" &&
         std::ranges::any_of(journal.lines,
                             [](const Journal::Line& line) { return line.thing.first == "cluster"; });
}

bool has_cluster(const Journal& journal) {
  const auto cluster = journal.now.find({"cluster", "kubeadm"});
  return cluster != journal.now.end() && cluster->second != "absent";
}

Result<> may_reset(const Journal& journal, bool force) {
  const bool is_ours = std::ranges::any_of(
      journal.lines, [](const Journal::Line& line) { return line.thing.first == "cluster"; });
  if (!has_cluster(journal) || is_ours || force) return {};
  if (!journal.unreadable.empty())
    return base::fail(
        base::Fault::blocked,
        "this host is a node of a cluster, and its journal has truncated or damaged lines: whether "
        "gpuadm created the cluster is unknown",
        "to reset it anyway: --force");
  return base::fail(base::Fault::blocked, "this host is a node of a cluster that gpuadm did not create",
                    "to reset it anyway: --force; to undo only gpuadm's changes: gpuadm undo");
}

std::vector<std::pair<std::string, std::string>> undo_phases() {
  return {{"undo/images", "Remove images"},
          {"undo/stop", "Stop services that were not running"},
          {"undo/things", "Restore files and settings"},
          {"undo/packages", "Remove packages"},
          {"undo/directories", "Remove empty directories"},
          {"undo/start", "Start services that were running"},
          {"undo/restart", "Reload units after restoring files"},
          {"undo/journal", "Forget"}};
}

Plan to_plan(const std::map<std::string, UndoPlan>& hosts, std::string prelude) {
  Plan plan{"undo", std::move(prelude), {}, false, {}, {}};
  for (const auto& [phase, title] : undo_phases()) {
    Stage stage{phase, title, false, {}};
    for (const auto& [host, way] : hosts)
      for (const auto& [name, actions] : way.stages)
        if (name == phase) stage.walks.push_back({host, actions});
    if (!stage.walks.empty()) plan.stages.push_back(std::move(stage));
  }
  return plan;
}

}  // namespace plan
