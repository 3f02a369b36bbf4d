#include "commands/inspect/dashboard/page_data.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/health_state.hpp"
#include "gpuadm/cluster/status_show.hpp"
#include "gpuadm/workload/queue.hpp"
#include "gpuadm/workload/state.hpp"

#include <algorithm>

namespace commands {

namespace {

using base::Tree;

/// Judging hundreds of hosts takes a second: at most a twentieth of the time is spent on it.
constexpr std::chrono::seconds between_judgments{2};
constexpr int least_pauses = 20;
/// Longer than a plot's values; no text of a host is as long.
constexpr std::size_t longest_text = 4096;
constexpr std::size_t most_workloads = 1000, most_history = 100;

/// Every text is printable and bounded, whichever host it is from.
void make_printable(Tree& tree) {
  if (const std::string* text = tree.as_string()) {
    tree = Tree(base::printable(*text, longest_text));
    return;
  }
  if (tree.is_list())
    for (Tree& item : tree.items()) make_printable(item);
  if (!tree.is_map()) return;
  for (auto& [key, value] : tree.entries()) {
    key = base::printable(key, longest_text);
    make_printable(value);
  }
}

std::string json_of(Tree tree) {
  make_printable(tree);
  return base::json::write(tree, 0);
}

Tree workloads_tree(const session::ClusterReadings& readings) {
  if (!readings.workloads()) return {};
  auto rows = workload::workload_rows(*readings.workloads());
  if (readings.queues())
    workload::add_places(rows, *readings.workloads(), workload::queued_jobs(*readings.queues()));
  Tree tree = Tree::map_of(
      {{"omitted", std::uint64_t{rows.size() > most_workloads ? rows.size() - most_workloads : 0}}});
  if (rows.size() > most_workloads) rows.resize(most_workloads);
  tree.merge(workload::to_tree(rows));
  return tree;
}

}  // namespace

PageData::PageData(session::ClusterReadings& readings, StatusJudge& judges, int interval)
    : readings_(readings), judges_(judges), interval_(interval) {
  cluster_ = json_of(Tree::map_of({{"cluster", readings.survey().cluster.name}}));
}

base::Result<> PageData::show(const session::GpuSamples& samples, session::SampleMoment moment) {
  cluster::TopFrame frame{base::iso8601(base::now()), interval_, {}, {}};
  for (const auto& [name, host] : samples.hosts) {
    cluster::add(frame, {name, host.sample ? &*host.sample : nullptr, host.silent_seconds, host.problem},
                 samples.pods);
    if (host.error) readings_.lose(name, *host.error);
  }
  time_ = frame.time;
  if (moment == session::SampleMoment::complete)
    board_.add(frame);
  else
    board_.refresh(frame);
  live_.clear();
  if (readings_.version() != judged_ && base::Clock::now() >= judge_at_) TRY(judge());
  return {};
}

base::Result<> PageData::judge() {
  const base::Instant begun = base::Clock::now();
  judged_ = readings_.version();
  const session::ClusterSurvey& survey = readings_.survey();
  const JudgedStatus judged = TRY(judges_.judge(survey, readings_.asked()));
  verdict_ = judged.status.verdict;
  Tree tree = to_tree(judged.status);
  tree.erase("gpus");
  tree.set("read", readings_.asked().empty() ? "" : base::iso8601(readings_.viewed()));
  tree.set("old", old_because());
  tree.set("note", readings_.problem());
  tree.set("chains", cluster::to_tree(judged.chains));
  tree.set("workloads", workloads_tree(readings_));
  tree.set("health", health_tree());
  cluster_ = json_of(std::move(tree));
  live_.clear();
  const auto took = base::Clock::now() - begun;
  judge_at_ = base::Clock::now() + std::max<base::Clock::duration>(between_judgments, took * least_pauses);
  return {};
}

/// Why the view of the cluster is not current; empty: it is.
std::string PageData::old_because() const {
  if (readings_.asked().empty()) return {};
  const auto& census = readings_.survey().survey.census;
  const auto host = census.find(readings_.asked());
  if (host == census.end() || host->second) return {};
  return readings_.asked() + " does not answer";
}

Tree PageData::health_tree() const {
  Tree list = Tree::list();
  for (const auto& [host, output] : readings_.health()) {
    if (base::trim(output).empty()) continue;
    std::vector<cluster::HealthRow> rows(1);
    rows.front().on = cluster::read_health_status(host, output);
    const auto& census = readings_.survey().survey.census;
    const auto facts = census.find(host);
    rows.front().on.reached = facts == census.end() || facts->second.has_value();
    std::string lines;
    for (const std::string_view line : base::lines(output))
      if (line.starts_with('{')) lines += std::string(line) + "\n";
    auto history = cluster::read_history(host, lines).entries;
    if (history.size() > most_history)
      history.erase(history.begin(), history.end() - static_cast<std::ptrdiff_t>(most_history));
    const Tree row = cluster::to_tree(rows);
    Tree tree = row.find("nodes")->items().front();
    tree.merge(cluster::to_tree(history));
    list.push(std::move(tree));
  }
  return list;
}

Tree PageData::hosts_tree() const {
  const Tree silent = board_.silent();
  Tree list = Tree::list();
  for (const spec::Host& host : readings_.survey().cluster.hosts) {
    Tree tree = Tree::map_of({{"host", host.name}, {"state", "answering"}, {"since", ""}, {"why", ""}});
    if (const Tree* found = silent.find(host.name)) tree.merge(*found);
    list.push(std::move(tree));
  }
  return list;
}

/// With the hosts whose GPUs gave no readings at the last sample.
cluster::Verdict PageData::verdict() const {
  cluster::Verdict verdict;
  if (verdict_)
    verdict = *verdict_;
  else
    verdict.unread.push_back({"the cluster", "it was not read yet", {}});
  const Tree silent = board_.silent();
  for (const auto& [host, state] : silent.entries()) {
    const std::string& word = state.find("state")->text();
    const bool known =
        std::ranges::find(verdict.problems, host, &cluster::Problem::where) != verdict.problems.end();
    if (word != "no nvidia-smi" && !known)
      verdict.unread.push_back({host, word + ": " + state.find("why")->text(), {}});
  }
  return verdict;
}

Tree PageData::verdict_tree() const {
  const cluster::Verdict now = verdict();
  Tree tree = to_tree(now);
  tree.set("problems", std::uint64_t{now.problems.size()});
  return tree;
}

const std::string& PageData::live() {
  if (live_.empty())
    live_ = json_of(Tree::map_of({{"time", time_},
                                  {"interval", interval_},
                                  {"clusterVersion", std::uint64_t{judged_}},
                                  {"verdict", verdict_tree()},
                                  {"hosts", hosts_tree()},
                                  {"plots", board_.plots()},
                                  {"gpus", board_.gpus()}}));
  return live_;
}

const std::string& PageData::cluster() {
  return cluster_;
}

}  // namespace commands
