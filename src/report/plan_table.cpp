#include "report/plan_table.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/report/wrap.hpp"

#include "report/paint.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace report {
namespace {

/// Of phases: more are grouped by the first part of their names. A question and what precedes the table are
/// on the same screen of 24 rows.
constexpr std::size_t most_phases = 8, most_changed = 1;

struct Change {
  std::string path;
  bool is_new = false;
  std::size_t added = 0, removed = 0;
};

Change change_of(std::string_view diff) {
  Change change;
  for (const std::string_view row : base::lines(diff)) {
    if (row.starts_with("--- "))
      change.is_new = row == "--- /dev/null";
    else if (row.starts_with("+++ "))
      change.path = base::printable(row.substr(4));
    else if (row.starts_with('+'))
      ++change.added;
    else if (row.starts_with('-'))
      ++change.removed;
  }
  return change;
}

std::string text_of(const Change& change) {
  if (change.is_new) return fmt::format("new, {}", count(change.added, "line"));
  return fmt::format("+{} -{} lines", change.added, change.removed);
}

}  // namespace

void PlanTable::add(const Event& event, const std::string& title) {
  hosts_.insert(event.host);
  auto phase = std::ranges::find(phases_, event.stage, &Phase::name);
  if (phase == phases_.end()) phase = phases_.insert(phase, {event.stage, title, 0});
  ++phase->steps;
  if (event.diff.empty()) return;
  const Change change = change_of(event.diff);
  const std::string text = text_of(change);
  auto file = std::ranges::find_if(
      files_, [&](const File& other) { return other.path == change.path && other.change == text; });
  if (file == files_.end()) file = files_.insert(file, {change.path, text, {}});
  file->hosts.insert(event.host);
}

std::string PlanTable::text(const Style& style) const {
  if (phases_.empty()) return {};
  std::vector<Row> rows;
  if (phases_.size() <= most_phases)
    for (const Phase& phase : phases_)
      rows.push_back({base::printable(phase.name), phase.steps, first_line(phase.title)});
  else
    rows = grouped();
  std::size_t width = 5;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  std::string text =
      paint(style, Ink::bold,
            fmt::format("  {:<{}}  STEPS  {}", phases_.size() <= most_phases ? "PHASE" : "GROUP", width,
                        phases_.size() <= most_phases ? "DESCRIPTION" : "PHASES")) +
      "\n";
  const std::size_t margin = 2 + width + 2 + 5 + 2;
  for (const Row& row : rows)
    text += fmt::format("  {:<{}}  {:>5}  ", row.name, width, row.steps) +
            wrapped(row.what, margin, style.width) + "\n";
  return text + files(style);
}

/// One row for all phases with the same first part: "kube", "packages, config, images".
std::vector<PlanTable::Row> PlanTable::grouped() const {
  std::vector<Row> rows;
  for (const Phase& phase : phases_) {
    const std::string name = base::printable(phase.name);
    const std::size_t slash = std::min(name.find('/'), name.size());
    const std::string first = name.substr(0, slash);
    const std::string rest = slash == name.size() ? first_line(phase.title) : name.substr(slash + 1);
    auto row = std::ranges::find(rows, first, &Row::name);
    if (row == rows.end()) row = rows.insert(row, {first, 0, {}});
    row->steps += phase.steps;
    row->what += (row->what.empty() ? "" : ", ") + rest;
  }
  return rows;
}

/// "  files     8 new, 1 changed: /etc/containerd/config.toml +8 -1 lines (--diff shows the changes)"
std::string PlanTable::files(const Style& style) const {
  if (files_.empty()) return {};
  const auto is_new = [](const File& file) { return file.change.starts_with("new"); };
  const auto fresh = static_cast<std::size_t>(std::ranges::count_if(files_, is_new));
  const std::size_t changed = files_.size() - fresh;
  std::string counts = fresh == 0 ? "" : fmt::format("{} new", fresh);
  if (changed > 0) counts += fmt::format("{}{} changed: ", counts.empty() ? "" : ", ", changed);
  std::size_t shown = 0;
  for (const File& file : files_) {
    if (is_new(file) || shown == most_changed) continue;
    const std::string where = hosts_.size() > 1 ? " on " + count(file.hosts.size(), "host") : "";
    counts += fmt::format("{}{} {}{}", shown++ == 0 ? "" : ", ", file.path, file.change, where);
  }
  if (shown < changed) counts += fmt::format(" and {} more", changed - shown);
  return "  files: " + wrapped(counts + " (--diff shows the changes)", 9, style.width) + "\n";
}

}  // namespace report
