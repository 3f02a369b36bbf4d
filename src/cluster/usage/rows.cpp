#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/cluster/usage_record.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_set>
#include <utility>

namespace cluster {

namespace {

using base::Tree;

constexpr std::size_t longest_text = 300, most_pods = 4096, most_gpus = 1024;
constexpr std::size_t most_rows = 500'000;  // of one node: more than its files hold
constexpr double most_seconds = 1e6, most_energy = 1e10, tolerance = 1.001;

constexpr std::pair<std::string_view, UsageState> states[] = {
    {"held", UsageState::held}, {"free", UsageState::free}, {"unknown", UsageState::unknown}};

double exact(double value) {
  return value;
}

/// To tenths: short rows, and the error of an hour is below 0.01 %.
double rounded(double value) {
  return std::round(value * 10) / 10;
}

double real_at(const Tree& tree, std::string_view key) {
  const Tree* value = tree.find(key);
  return value ? value->as_real().value_or(-1) : 0;
}

bool is_within(double value, double most) {
  return value >= 0 && value <= most;  // not with NaN
}

std::string text_in(const Tree& tree, std::string_view key) {
  return base::printable(base::text_of(tree, key), longest_text);
}

bool is_hour(const std::string& hour) {
  return base::parse_time(hour + ":00:00Z").has_value();
}

long long batch_in(const Tree& tree) {
  const Tree* batch = tree.find("batch");
  return std::clamp<std::int64_t>(batch ? batch->as_int().value_or(1) : 1, 1, std::int64_t{1} << 40);
}

void set_numbers(Tree& tree, const UsageRow& row, double (*written)(double)) {
  tree.set("seconds", written(row.seconds));
  tree.set("used", written(row.used));
  tree.set("usedOf", written(row.used_of));
  tree.set("joules", written(row.energy));
  tree.set("joulesOf", written(row.energy_of));
}

void set_holder(Tree& tree, const UsageHolder& holder) {
  for (const auto& [key, text] :
       std::initializer_list<std::pair<std::string_view, const std::string&>>{{"uid", holder.uid},
                                                                              {"namespace", holder.ns},
                                                                              {"pod", holder.pod},
                                                                              {"kind", holder.kind},
                                                                              {"workload", holder.workload}})
    if (!text.empty()) tree.set(key, text);
}

UsageHolder holder_in(const Tree& tree) {
  return {.uid = text_in(tree, "uid"),
          .ns = text_in(tree, "namespace"),
          .pod = text_in(tree, "pod"),
          .kind = text_in(tree, "kind"),
          .workload = text_in(tree, "workload")};
}

}  // namespace

Tree to_tree(const UsageRow& row, long long batch) {
  Tree tree = Tree::map_of({{"hour", row.hour}, {"batch", std::int64_t{batch}}, {"gpu", row.gpu}});
  if (!row.mig.empty()) tree.set("mig", row.mig);
  tree.set(
      "state",
      std::string(
          std::ranges::find(states, row.state, &std::pair<std::string_view, UsageState>::second)->first));
  set_holder(tree, row.holder);
  set_numbers(tree, row, rounded);
  return tree;
}

std::optional<UsageRow> usage_row_in(const Tree& tree) {
  UsageRow row{.hour = base::text_of(tree, "hour"),
               .gpu = text_in(tree, "gpu"),
               .mig = text_in(tree, "mig"),
               .holder = holder_in(tree),
               .seconds = real_at(tree, "seconds"),
               .used = real_at(tree, "used"),
               .used_of = real_at(tree, "usedOf"),
               .energy = real_at(tree, "joules"),
               .energy_of = real_at(tree, "joulesOf")};
  const auto* state = std::ranges::find(states, std::string_view(base::text_of(tree, "state")),
                                        &std::pair<std::string_view, UsageState>::first);
  if (state == std::end(states) || row.gpu.empty() || !is_hour(row.hour)) return std::nullopt;
  row.state = state->second;
  const double most = row.seconds * tolerance + 1;
  if (!is_within(row.seconds, most_seconds) || !is_within(row.used_of, most) ||
      !is_within(row.used, row.used_of * tolerance + 1) || !is_within(row.energy_of, most) ||
      !is_within(row.energy, most_energy))
    return std::nullopt;
  return row;
}

Tree to_tree(const UsageMeter& meter) {
  Tree pods = Tree::map(), rows = Tree::list();
  for (const auto& [uid, holder] : meter.pods) {
    Tree tree = Tree::map();
    set_holder(tree, holder);
    pods.set(uid, std::move(tree));
  }
  for (const UsageRow& row : meter.rows) {
    Tree one = to_tree(row, meter.batch);
    set_numbers(one, row, exact);  // it grows with every run: rounding errors would add up
    rows.push(std::move(one));
  }
  return Tree::map_of({{"at", meter.last.at},
                       {"uptime", meter.last.uptime},
                       {"bootId", meter.last.boot_id},
                       {"batch", std::int64_t{meter.batch}},
                       {"gpus", Tree::list_of(meter.gpus)},
                       {"pods", std::move(pods)},
                       {"rows", std::move(rows)}});
}

UsageMeter usage_meter_in(const Tree& tree) {
  UsageMeter meter;
  meter.last = {.at = base::text_of(tree, "at"),
                .epoch = 0,
                .uptime = real_at(tree, "uptime"),
                .boot_id = base::text_of(tree, "bootId")};
  meter.batch = batch_in(tree);
  if (const Tree* gpus = tree.find("gpus"))
    for (const Tree& gpu : gpus->items())
      if (meter.gpus.size() < most_gpus) meter.gpus.push_back(gpu.text());
  if (const Tree* pods = tree.find("pods"))
    for (const auto& [uid, holder] : pods->entries())
      if (meter.pods.size() < most_pods) meter.pods.emplace(uid, holder_in(holder));
  if (const Tree* rows = tree.find("rows"))
    for (const Tree& row : rows->items())
      if (auto read = usage_row_in(row); read && meter.rows.size() < most_usage_rows)
        meter.rows.push_back(std::move(*read));
  return meter;
}

UsageRecord read_usage(std::string_view output) {
  constexpr std::string_view state = "state ", end = "=== end";
  UsageRecord record;
  std::unordered_set<std::size_t> seen;  // a row that was written twice is identical
  bool fits = true;
  const auto take = [&](const Tree& tree) {
    auto row = usage_row_in(tree);
    if (!row)
      ++record.damaged;
    else if (!seen.insert(std::hash<std::string>()(base::json::write(to_tree(*row, batch_in(tree)), 0)))
                  .second)
      return;
    else if (record.rows.size() < most_rows)
      record.rows.push_back(std::move(*row));
    else
      fits = false;
  };
  for (const std::string_view line : base::lines(output)) {
    if (base::trim(line).empty()) continue;
    if (line == end) {
      record.complete = true;
      continue;
    }
    const bool is_state = line.starts_with(state);
    const auto tree = base::json::read(is_state ? line.substr(state.size()) : line, "usage");
    if (!tree) {
      ++record.damaged;
      continue;
    }
    if (!is_state) {
      take(*tree);
      continue;
    }
    record.exists = true;
    if (const Tree* rows = tree->find("rows"))
      for (const Tree& row : rows->items()) take(row);
  }
  record.exists = record.exists || !record.rows.empty();
  record.complete = record.complete && fits;
  return record;
}

}  // namespace cluster
