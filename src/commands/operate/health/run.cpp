#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/cluster/health_state.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"

#include "commands/operate/health/health_options.hpp"
#include "commands/operate/health/hung.hpp"
#include "commands/operate/health/idle_notebooks.hpp"
#include "commands/operate/health/metrics_file.hpp"
#include "commands/operate/health/node_api.hpp"
#include "commands/operate/health/node_facts.hpp"
#include "commands/operate/health/node_usage.hpp"
#include "commands/operate/health/rotated_file.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace commands {

namespace {

struct HealthRunOptions {
  Common common;
  std::string node;  ///< name of this machine's Node object
  TaintPolicy taint = TaintPolicy::off;
  int max_tainted = 25;
  std::vector<std::string> skip;
};

using base::Fault;
using cluster::HealthReport;
using cluster::HealthState;
using cluster::Moment;

constexpr const char* health_folder = "/var/lib/gpuadm/health";
constexpr std::uintmax_t history_limit = 512u << 10;  // of each of two files

/// Held while a run lasts; the kernel releases it when the process ends.
class RunLock {
 public:
  static Result<RunLock> take() {
    const std::string path = std::string(health_folder) + "/lock";
    RunLock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (lock.file_ < 0)
      return base::fail(Fault::blocked, fmt::format("cannot open {}", path),
                        "health checks are not enabled here: run gpuadm health enable");
    if (::flock(lock.file_, LOCK_EX | LOCK_NB) != 0)
      return base::fail(Fault::blocked, "another health run is in progress on this node", "try again later");
    return lock;
  }
  RunLock(RunLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock() {
    if (file_ >= 0) ::close(file_);
  }

 private:
  explicit RunLock(int file) : file_(file) {}
  int file_;
};

std::filesystem::path in_folder(const char* name) {
  return std::filesystem::path(health_folder) / name;
}

Moment moment_now() {
  const base::Time now = base::now();
  const std::string uptime = base::read_file("/proc/uptime").value_or("");
  return {api_time(now), std::chrono::duration<double>(now.time_since_epoch()).count(),
          base::to_real(base::split(uptime, ' ').front()).value_or(0),
          std::string(base::trim(base::read_file("/proc/sys/kernel/random/boot_id").value_or("")))};
}

/// One that is missing or damaged is a first run.
HealthState read_state(Io& io) {
  const auto text = base::read_file(in_folder("state.json"), 1u << 20);
  if (!text) return {};
  const auto tree = base::json::read(*text, "state.json");
  if (tree) return cluster::state_in(*tree);
  io.err(base::printable(tree.error().what) + ": the state is made again\n");
  return {};
}

Result<> save(const HealthState& state) {
  return base::write_file(in_folder("state.json"), base::json::write(cluster::to_tree(state), 0) + "\n");
}

Result<> append(const std::string& line) {
  return append_rotated(health_folder, "history", history_limit, line);
}

struct Run {
  const HealthRunOptions& options;
  const assets::Store& assets;
  transport::Fleet& fleet;
  const std::string host;  ///< the name of this machine in the fleet
  Moment now;
};

std::string hung_text(const HungProgram& hung) {
  return fmt::format("nvidia-smi (pid {}) hangs for {}: the driver does not answer; reboot the node",
                     hung.pid, base::human_seconds(static_cast<double>(hung.seconds)));
}

struct Checked {
  HealthReport report;
  std::vector<report::Finding> findings;
  cluster::GpuStates gpus;
  std::optional<facts::Nvidia> nvidia;  ///< nothing: the facts could not be read
  bool has_log = false;                 ///< whether the kernel's log could be read
};

/// Reads the facts of this node and evaluates them. nvidia-smi is not started while another one hangs.
Result<Checked> check_node(const Run& run, int known) {
  const auto unchecked = [&](const std::string& reason, const std::string& message, bool driver_fails) {
    // Also GPUs that no run has seen yet, because the driver has not answered since health checks are
    // enabled.
    const int gpus = std::max(known, gpus_on_bus("/sys/bus/pci/devices"));
    return Checked{.report = cluster::unchecked_health(reason, message, driver_fails, gpus)};
  };
  if (const auto hung = hung_nvidia_smi("/proc", host_nvidia_smi()))
    return unchecked("NvidiaSmiHangs", hung_text(*hung), true);
  const auto cluster = TRY(session::read_cluster({}, {}));
  facts::Census census;
  const auto& facts =
      census.emplace(run.host, read_node(run.host, run.fleet, run.assets, run.now, health_folder))
          .first->second;
  if (!facts && facts.error().fault == Fault::interrupted) return std::unexpected(facts.error());
  if (!facts) {
    const auto hung = hung_nvidia_smi("/proc", host_nvidia_smi());
    return unchecked(hung ? "NvidiaSmiHangs" : "ProbeFailed", hung ? hung_text(*hung) : facts.error().what,
                     hung.has_value());
  }
  auto findings = TRY(session::find(cluster, {}, census, run.assets, checks::Stage::node));
  std::erase_if(findings, [&](const report::Finding& finding) {
    return std::ranges::any_of(
        run.options.skip, [&](const std::string& pattern) { return session::matches(finding.id, pattern); });
  });
  auto report = cluster::judge_health(findings, cluster::gpus_of(facts->nvidia), known, run.options.taint);
  auto states = cluster::gpu_states(findings, facts->nvidia);
  return Checked{std::move(report), std::move(findings), std::move(states), facts->nvidia,
                 facts->kernel.log.has_value()};
}

std::string event_name(const Run& run, const std::string& word, std::size_t number) {
  return fmt::format("{}.gpuadm-{}-{:x}-{}", run.options.node, base::lower(word),
                     static_cast<unsigned long long>(run.now.epoch * 1000), number);
}

void remember(const Run& run, const HealthReport& report, HealthState& state,
              std::vector<cluster::HealthCondition> conditions) {
  const auto changed = cluster::carry_over(state.conditions, conditions, run.now.at);
  for (const auto& one : changed)
    // A message with a measured value changes often. A node that is first checked and is well needs no Event.
    if (one.since == run.now.at && (one.status != "True" || !state.conditions.empty()))
      cluster::enqueue(state, {event_name(run, one.type, state.events.size()), one.status != "True",
                               one.type + (one.status == "True"    ? ""
                                           : one.status == "False" ? "Not"
                                                                   : "Unknown"),
                               one.message, run.now.at});
  if (!changed.empty() || conditions.size() != state.conditions.size()) state.published = false;
  if (std::ranges::any_of(changed, [&](const auto& one) { return one.since == run.now.at; }))
    state.repeated = 0;
  state.conditions = std::move(conditions);
  state.first = report.first;
  state.gpus = std::max(state.gpus, report.gpus);
  state.last = run.now;
  state.node = run.options.node;
}

/// Sends conditions and the Events that wait. What cannot be sent stays for the next run.
Result<> publish(const Run& run, HealthState& state) {
  if (state.conditions.empty()) return {};
  NodeApi api(run.host, kubelet_conf, run.fleet, run.assets);
  if (cluster::must_publish(state, run.now)) {
    TRY(api.set_health(state.node, {state.conditions, state.idle, run.now.at}));
    state.published = true;
    state.repeated = std::min(state.repeated + 1, cluster::send_repeated);
    state.sent = run.now;
  }
  // One that is refused, as by a quota or an admission policy, is dropped: those behind it are sent.
  Result<> refused;
  while (!state.events.empty()) {
    const auto sent = api.send(state.events.front(), state.node);
    if (!sent && !NodeApi::is_refused(sent.error())) return sent;
    if (!sent) refused = sent;
    state.events.erase(state.events.begin());
  }
  return refused;
}

/// On the control-plane node that is responsible: taints the nodes of the whole cluster, and adds to `did`.
/// If one fails, the others are still changed.
/// `interval`: seconds since the run before.
Result<> set_taints(const Run& run, HealthState& state, double interval, std::vector<std::string>& did) {
  if (run.options.taint == cluster::TaintPolicy::off || ::access(admin_conf, R_OK) != 0) return {};
  NodeApi api(run.host, admin_conf, run.fleet, run.assets);
  const auto nodes = TRY(api.nodes());
  if (cluster::node_that_sets_taints(nodes) != state.node) {
    state.streaks.clear();
    state.limited.clear();
    return {};
  }
  const auto plan = cluster::plan_taints(nodes, state.streaks,
                                         {.policy = run.options.taint,
                                          .percent = run.options.max_tainted,
                                          .now = run.now.epoch,
                                          .interval = interval});
  const auto change = [&](const std::string& node, NodeApi::Taint what, const char* text) -> Result<> {
    TRY(api.taint(node, what));
    did.push_back(fmt::format("{} {}", text, node));
    const bool added = what == NodeApi::Taint::add;
    return api.send(
        {fmt::format("{}.gpuadm-taint-{:x}", node, static_cast<unsigned long long>(run.now.epoch * 1000)),
         added, added ? "GPUTaintAdded" : "GPUTaintRemoved",
         fmt::format("{}:NoSchedule was {}", cluster::health_taint, added ? "added" : "removed"), run.now.at},
        node);
  };
  Result<> all;
  for (const std::string& node : plan.remove)
    if (const auto done = change(node, NodeApi::Taint::remove, "untainted"); !done) all = done;
  for (const std::string& node : plan.add)
    if (const auto done = change(node, NodeApi::Taint::add, "tainted"); !done) all = done;
  state.streaks = plan.streaks;
  state.limited = plan.limited;
  return all;
}

/// What happened besides the conditions, for the history.
std::string note_of(const HealthState& before, const Moment& now) {
  if (before.last.at.empty()) return "the first run";
  if (before.last.boot_id != now.boot_id) return "the node was booted";
  const auto step = cluster::clock_step(before.last, now);
  if (!step) return {};
  return fmt::format("the clock was set {} by {}", *step > 0 ? "forward" : "back",
                     base::human_seconds(static_cast<double>(std::abs(*step))));
}

/// The ID of the check at the end of a first broken link.
std::string_view check_in(std::string_view first) {
  const std::size_t open = first.rfind('(');
  return open == std::string_view::npos ? first : first.substr(open);
}

bool has_changed(const HealthState& before, const HealthState& now) {
  return check_in(before.first) != check_in(now.first) || before.gpu_states != now.gpu_states ||
         !std::ranges::equal(before.conditions, now.conditions, {}, &cluster::HealthCondition::status,
                             &cluster::HealthCondition::status);
}

void print(const HealthState& state, const std::vector<std::string>& did, Io& io) {
  std::vector<std::string> words;
  for (const auto& one : state.conditions) words.push_back(one.type + "=" + one.status);
  if (words.empty()) words.emplace_back("no GPU");
  words.insert(words.end(), did.begin(), did.end());
  std::string line = base::join(words, ", ");
  if (!state.first.empty()) line += "; " + state.first;
  io.out(base::printable(line, 1000) + "\n");
  if (!state.problem.empty())
    io.err(base::printable("not sent to the API server, the next run tries again: " + state.problem, 600) +
           "\n");
}

Result<> check_options(const HealthRunOptions& options) {
  if (::geteuid() != 0)
    return base::fail(Fault::usage, "gpuadm health run reads the node as root", "use sudo");
  if (!base::is_dns_name(options.node))
    return base::fail(Fault::usage, fmt::format("invalid node name: {}", base::printable(options.node, 80)),
                      "use the name in kubectl get nodes");
  return {};
}

/// One run on this node, as the timer starts it: checks, writes the history, sends conditions and Events, and
/// sets taints on the first control-plane node. Outcome::failed if the results cannot be kept. An API server
/// that is away is not a failure: the results are sent later.
Result<Outcome> health_run(const HealthRunOptions& options, Io& io) {
  TRY(check_options(options));
  const RunLock lock = TRY(RunLock::take());
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster self = TRY(session::read_cluster({}, {}));
  const auto connections = TRY(session::Connections::open(self, {}, io));
  const auto fleet = connections->fleet(session::Access::full);
  const HealthState before = read_state(io);
  Run run{options, assets, *fleet, self.hosts.front().name, moment_now()};
  Checked checked = TRY(check_node(run, before.gpus));
  run.now = moment_now();

  HealthState state = before;
  remember(run, checked.report, state, checked.report.conditions);
  state.gpu_states = checked.gpus;
  const facts::Nvidia* nvidia = checked.nvidia ? &*checked.nvidia : nullptr;
  const UsageRun usage_run{run.host, run.fleet, run.assets, run.now, health_folder};
  NodeUsage usage = read_usage(usage_run, nvidia, state.gpus, before);
  if (usage.idle != before.idle) state.published = false;
  state.idle = usage.idle;
  const std::string note = note_of(before, run.now);
  Result<> kept;
  if (has_changed(before, state) || !note.empty()) kept = append(cluster::history_line(run.now, state, note));
  // Events are sent only once they are on disk: otherwise each run would send them again.
  if (const auto saved = save(state); !saved) {
    kept = saved;
    state.events.clear();
  }
  const auto sent = publish(run, state);
  if (!sent && sent.error().fault == Fault::interrupted) return std::unexpected(sent.error());
  std::vector<std::string> did;
  const auto tainted = set_taints(run, state, run.now.epoch - before.last.epoch, did);
  const auto stopped = stop_idle_notebooks({usage_run, options.node}, did);
  state.problem = !sent      ? sent.error().what
                  : !tainted ? tainted.error().what
                  : !stopped ? stopped.error().what
                             : "";
  if (!did.empty() && kept) kept = append(cluster::history_line(run.now, state, base::join(did, ", ")));
  if (const auto saved = save(state); !saved) kept = saved;
  if (const auto written = write_metrics(state, nvidia, checked.has_log, std::move(checked.findings));
      !written)
    kept = written;
  if (const auto recorded = record_usage(usage_run, std::move(usage)); !recorded) kept = recorded;
  print(state, did, io);
  if (!kept) return std::unexpected(kept.error());
  return Outcome::done;
}

}  // namespace

Command health_run_command() {
  return CommandRow<HealthRunOptions>{
      .name = "health run",
      .group = Group::operate,
      .summary = "Check this node once, as the timer does; needs root",
      .options =
          [](Line& line, HealthRunOptions& options) {
            line.assets(options.common.assets);
            line.value("--node", options.node, "NAME", "Name of this machine's Node object").required();
            add_taint(line, options.taint, options.max_tainted, options.skip);
          },
      .examples = {{"gpuadm health run --node gpu1", "once, as the timer does"}},
      .run = health_run};
}

}  // namespace commands
