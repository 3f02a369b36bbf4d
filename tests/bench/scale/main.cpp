// Says what gpuadm's window of hosts and its distribution of a file do with more hosts than there are here:
// the code of src/run and src/transport/fleet.cpp as it is, in simulated time, with hosts and a network that
// are simulated. docs/scale.md quotes it, and tests/bench/scale-check compares it with real hosts.
//
// usage: bench_scale                         the tables of docs/scale.md
//        bench_scale window|tree NAME=VALUE...  one line; names: see Options

#include "gpuadm/base/text.hpp"
#include "gpuadm/run/run.hpp"

#include "host.hpp"
#include "virtual_clock.hpp"

#include <fmt/format.h>

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>

namespace scale {
namespace {

struct Options {
  int hosts = 1000, window = 64;
  int down = 0;  ///< hosts that never answer
  int dead = 0;  ///< hosts that go away when they have half of the file
  int slow = 0;  ///< hosts with a tenth of the speed
  double sleep = 0, mib = 1024;
  double uplink = 110, stream = 1000, host = 250;  ///< MB per second: see Speeds
  Costs costs;
};

/// What a row of a table shows.
struct Result {
  double seconds = 0, cpu = 0;
  int failed = 0;
  double from_client = 0;  ///< copies of the file
  int most_from_client = 0;
};

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec) + static_cast<double>(used.ru_utime.tv_usec) / 1e6;
}

std::string name_of(int host) {
  return fmt::format("host{:05}", host);
}

World world_of(const Options& options) {
  const Speeds speeds{
      .uplink = options.uplink * 1e6, .stream = options.stream * 1e6, .host = options.host * 1e6};
  World world{options.costs, Network(speeds, options.hosts, options.mib * (1 << 20)), {}, {}, 0};
  world.cores.resize(static_cast<std::size_t>(std::max(options.costs.shared_cores, 1)));
  world.busy.resize(static_cast<std::size_t>(options.hosts));
  return world;
}

/// Adds the hosts; those that are special are spread evenly, a single one is in the middle.
void populate(transport::Fleet& fleet, World& world, const Options& options) {
  const auto is_one_of = [&](int host, int count) {
    const auto before = [&](int of) { return (2 * of * count + options.hosts) / (2 * options.hosts); };
    return before(host + 1) > before(host);
  };
  for (int i = 0; i < options.hosts; ++i) {
    auto host = std::make_unique<Host>(world, i);
    if (is_one_of(i, options.down)) host->is_down();
    if (is_one_of(i, options.dead)) world.network.dies_half_way(i);
    if (is_one_of(i, options.slow)) world.network.slow_down(i, 0.1);
    fleet.add(name_of(i), std::move(host));
  }
}

Result run_window(const Options& options) {
  World world = world_of(options);
  transport::Fleet fleet(options.window, nullptr);
  populate(fleet, world, options);
  const double begun = seconds_now(), cpu = cpu_seconds();
  for (const std::string& host : fleet.hosts()) {
    transport::Command command;
    command.script = fmt::format("sleep {:.0f}", options.sleep);
    fleet.submit(host, std::move(command));
  }
  Result result;
  while (const auto completion = fleet.next()) {
    fleet.at(completion->host).close();
    if (!completion->result) ++result.failed;
  }
  result.seconds = seconds_now() - begun;
  result.cpu = cpu_seconds() - cpu;
  return result;
}

/// `gpuadm cp`: one step, which uploads a file.
plan::Plan plan_of(const std::filesystem::path& file, const Options& options) {
  plan::Action action;
  action.id = action.title = "cp";
  action.kind = plan::Kind::upload;
  action.variables = {{"bundle_sha256", std::string(64, 'a')}};
  action.check = action.apply = ":";
  action.timeout = std::chrono::hours(24);
  action.input = file;
  plan::Plan plan;
  plan.depot = ":\n";
  plan.stages.push_back({"cp", "cp", false, {}});
  for (int i = 0; i < options.hosts; ++i) plan.stages.front().walks.push_back({name_of(i), {action}});
  return plan;
}

struct Silent final : report::Reporter {
  void on(const report::Event&) override {}
};

Result run_tree(const Options& options) {
  World world = world_of(options);
  transport::Fleet fleet(options.window, nullptr);
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("gpuadm-bench-scale.{}", ::getpid());
  std::fclose(std::fopen(file.c_str(), "w"));
  std::filesystem::resize_file(file,
                               static_cast<std::uintmax_t>(options.mib * (1 << 20)));  // sparse; never read
  const plan::Plan plan = plan_of(file, options);
  Silent silent;
  const run::Identity who{"run", "owner", "client", 1, "1", "", ""};
  const double begun = seconds_now(), cpu = cpu_seconds();
  world.network.advance(begun);
  populate(fleet, world, options);
  const run::Outcome outcome = run::execute(plan, fleet, silent, run::Mode::apply, who);
  std::filesystem::remove(file);
  Result result{seconds_now() - begun, cpu_seconds() - cpu, static_cast<int>(outcome.failed.size())};
  result.from_client = world.network.sent_by_client() / (options.mib * (1 << 20));
  result.most_from_client = world.network.most_from_client();
  return result;
}

Options with(std::span<char*> words) {
  Options options;
  for (const std::string_view word : words) {
    const std::size_t at = word.find('=');
    const std::string name(word.substr(0, at));
    const double value = at == std::string_view::npos ? 0 : std::atof(word.data() + at + 1);
    const std::map<std::string, int*> counts = {
        {"hosts", &options.hosts}, {"window", &options.window},
        {"down", &options.down},   {"dead", &options.dead},
        {"slow", &options.slow},   {"shared-cores", &options.costs.shared_cores}};
    const std::map<std::string, double*> amounts = {{"sleep", &options.sleep},
                                                    {"mib", &options.mib},
                                                    {"uplink", &options.uplink},
                                                    {"stream", &options.stream},
                                                    {"host", &options.host},
                                                    {"connect", &options.costs.connect},
                                                    {"program", &options.costs.program},
                                                    {"client-cpu", &options.costs.client_cpu},
                                                    {"host-cpu", &options.costs.host_cpu}};
    if (const auto count = counts.find(name); count != counts.end())
      *count->second = static_cast<int>(value);
    else if (const auto amount = amounts.find(name); amount != amounts.end())
      *amount->second = value;
    else
      fmt::print(stderr, "bench_scale: {}: expected NAME=VALUE with a name of Options\n", word), std::exit(2);
  }
  return options;
}

void window_table() {
  fmt::print(
      "### The window: seconds until every host has run a short program\n\n"
      "| hosts | of them down | window 64 | window 256 | window 1,024 |\n|---|---|---|---|---|\n");
  for (const auto& [hosts, down] :
       {std::pair(64, 0), {256, 0}, {1000, 0}, {1000, 10}, {10000, 0}, {10000, 100}}) {
    fmt::print("| {} | {} |", hosts, down);
    for (const int window : {64, 256, 1024}) {
      Options options;
      options.hosts = hosts, options.down = down, options.window = window;
      fmt::print(" {:.1f} |", run_window(options).seconds);
    }
    fmt::print("\n");
  }
}

void tree_table() {
  fmt::print(
      "\n### The distribution of 1 GiB: uplink 110 MB/s, hosts 250 MB/s\n\n"
      "| hosts | window | gone half-way | slow | s | × one host | copies sent by the client | at most at "
      "once | failed | CPU s |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
  struct Row {
    int hosts, window, dead, slow;
  };
  double one = 0;
  for (const Row& row : {Row{1, 64, 0, 0},
                         {8, 64, 0, 0},
                         {64, 64, 0, 0},
                         {64, 64, 1, 0},
                         {64, 64, 0, 1},
                         {256, 64, 0, 0},
                         {1000, 64, 0, 0},
                         {1000, 64, 10, 0},
                         {1000, 64, 0, 10},
                         {1000, 1024, 0, 0},
                         {1000, 1024, 10, 0},
                         {1000, 1024, 0, 10}}) {
    Options options;
    options.hosts = row.hosts, options.window = row.window, options.dead = row.dead, options.slow = row.slow;
    const Result result = run_tree(options);
    if (row.hosts == 1) one = result.seconds;
    fmt::print("| {} | {} | {} | {} | {:.0f} | {:.1f} | {:.1f} | {} | {} | {:.1f} |\n", row.hosts, row.window,
               row.dead, row.slow, result.seconds, result.seconds / one, result.from_client,
               result.most_from_client, result.failed, result.cpu);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace scale

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what.empty()) {
    scale::window_table();
    scale::tree_table();
    return 0;
  }
  if (what != "window" && what != "tree") {
    fmt::print(stderr, "usage: bench_scale [window|tree NAME=VALUE...]\n");
    return 2;
  }
  const scale::Options options = scale::with(std::span(argv + 2, argv + argc));
  const scale::Result result = what == "tree" ? scale::run_tree(options) : scale::run_window(options);
  fmt::print("{:.2f} s; failed {}; copies sent by the client {:.2f}, at most {} at once; CPU {:.2f} s\n",
             result.seconds, result.failed, result.from_client, result.most_from_client, result.cpu);
  return 0;
}
