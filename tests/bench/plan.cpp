// What a plan and its preview cost for a recording of many hosts (tests/bench/many_hosts.py): facts, plan,
// plan.json, the programs of the preview, and the reading of their answers, in which every step is satisfied.
// Without a connection.
//
// usage: bench_plan RECORDING

#include "gpuadm/plan/plan.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/run/run.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/recording.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include <fmt/format.h>

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace {

template <class T>
T must(base::Result<T> result) {
  if (!result) fmt::print(stderr, "bench_plan: {}\n", result.error().what), std::exit(1);
  return std::move(*result);
}

/// Answers a preview: every check is satisfied.
class Satisfied final : public transport::Transport {
 public:
  base::Result<void> start(transport::Command command) override {
    exit_.out.clear();
    const std::string_view script = command.script.text();
    for (std::size_t at = script.find("echo; echo "); at != std::string_view::npos;
         at = script.find("echo; echo ", at + 1)) {
      const std::string_view mark = script.substr(at + 11, script.find_first_of(" \n", at + 11) - at - 11);
      exit_.out += fmt::format("\n{}{}\n", mark, mark.find("-end-") != std::string_view::npos ? " 0" : "");
    }
    return {};
  }
  void interests(std::vector<pollfd>&) const override {}
  [[nodiscard]] std::optional<base::Instant> wake() const override { return base::Clock::now(); }
  base::Result<std::optional<transport::Exit>> advance() override { return std::move(exit_); }
  void close() override {}
  [[nodiscard]] std::string kind() const override { return "simulated"; }

 private:
  transport::Exit exit_;
};

struct Silent final : report::Reporter {
  void on(const report::Event&) override {}
};

double lap() {
  static base::Instant last = base::Clock::now();
  const base::Instant before = std::exchange(last, base::Clock::now());
  return std::chrono::duration<double>(last - before).count();
}

double peak_mib() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  (void)lap();
  if (argc != 2) return fmt::print(stderr, "usage: bench_plan RECORDING\n"), 2;
  const session::ClusterSurvey recording = must(session::load_recording(argv[1]));
  const assets::Store store = must(assets::Store::open({}));
  const double read_facts = lap();
  const double facts_mib = peak_mib();

  const playbook::Library library = must(playbook::Library::load(store, "init"));
  const spec::Cluster& cluster = recording.cluster;
  const facts::Census& census = recording.survey.census;
  const spec::Host* first = playbook::first_control_plane(cluster, census);
  if (!first) return fmt::print(stderr, "bench_plan: the recording has no control plane\n"), 1;
  spec::Decisions decisions;
  decisions.kubernetes =
      must(playbook::choose_version(cluster, *census.at(first->name), library.catalog(), nullptr)).version;
  plan::Choice choice;
  choice.skip_phases = {"health"};  // which hosts do not have
  session::decide_supplies(cluster, census, nullptr, choice, decisions);
  const plan::Plan plan = must(plan::make(cluster, decisions, census, library, nullptr, choice));
  const double made = lap();
  const std::string file = fmt::format("{}/plan.{}.json", argv[1], ::getpid());
  if (const auto written = base::write_file(file, plan::to_json(plan), 0600); !written)
    return fmt::print(stderr, "bench_plan: {}\n", written.error().what), 1;
  const auto bytes = std::filesystem::file_size(file);
  std::filesystem::remove(file);
  const double saved = lap();

  transport::Fleet fleet(cluster.ssh.window, nullptr);
  for (const auto& [host, facts] : census) fleet.add(host, std::make_unique<Satisfied>());
  Silent silent;
  const run::Outcome outcome = run::execute(plan, fleet, silent, run::Mode::preview, run::identity().value());
  const double previewed = lap();
  // Those that read what an earlier step saves are not asked in a preview.
  fmt::print("\n{} of {} steps were answered.\n", outcome.satisfied, plan.size());

  const double wall = made + saved + previewed;
  fmt::print("\n### Plan and preview of {} recorded hosts, {} steps\n\n| | s |\n|---|---|\n", census.size(),
             plan.size());
  fmt::print(
      "| read and parse the facts | {:.2f} |\n| make the plan | {:.2f} |\n| write plan.json | {:.2f} |\n| "
      "preview | {:.2f} |\n\n",
      read_facts, made, saved, previewed);
  fmt::print("- plan.json: {:.1f} KiB a host\n",
             static_cast<double>(bytes) / 1024 / static_cast<double>(census.size()));
  fmt::print("- plan and preview under 3 s: {:.2f} s, {}\n", wall, wall < 3 ? "met" : "missed");
  fmt::print("- memory under 250 MiB: {:.0f} MiB, of it {:.0f} with the facts alone: {}\n", peak_mib(),
             facts_mib, peak_mib() < 250 ? "met" : "missed");
  return 0;
}
