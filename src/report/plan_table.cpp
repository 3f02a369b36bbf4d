#include "report/plan_table.hpp"

#include "gpuadm/base/text.hpp"

#include "report/paint.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace report {
namespace {

constexpr std::size_t most_rows = 22, fewest_files = 3;

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
  std::size_t width = 5;
  for (const Phase& phase : phases_) width = std::max(width, phase.name.size());
  std::string text =
      paint(style, Ink::bold, fmt::format("  {:<{}}  STEPS  DESCRIPTION", "PHASE", width)) + "\n";
  for (const Phase& phase : phases_)
    text += fit(fmt::format("  {:<{}}  {:>5}  {}", base::printable(phase.name), width, phase.steps,
                            first_line(phase.title)),
                style.width) +
            "\n";
  const std::size_t left = most_rows - std::min(most_rows, phases_.size());
  return text + files(std::max(left, fewest_files), style);
}

std::string PlanTable::files(std::size_t rows, const Style& style) const {
  if (files_.empty()) return {};
  std::string text =
      paint(style, Ink::bold, "  FILES") + paint(style, Ink::dim, " (--diff shows the changes)") + "\n";
  const std::size_t shown = files_.size() > rows ? rows - 1 : files_.size();
  for (std::size_t i = 0; i < shown; ++i) {
    const File& file = files_[i];
    const std::string where = hosts_.size() > 1 ? ", " + count(file.hosts.size(), "host") : "";
    text += fit(fmt::format("  {}  {}{}", file.path, file.change, where), style.width) + "\n";
  }
  if (shown < files_.size()) text += fmt::format("  and {} more\n", files_.size() - shown);
  return text;
}

}  // namespace report
