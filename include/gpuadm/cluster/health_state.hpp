#pragma once

#include "gpuadm/cluster/health.hpp"
#include "gpuadm/cluster/verdict.hpp"
#include "gpuadm/report/timeline.hpp"

#include <map>
#include <string>
#include <vector>

/// What a node remembers between two health runs, and its history. Pure.
namespace cluster {

/// Two readings of one moment: the clock that can be set, and the one that cannot.
struct Moment {
  std::string at;       ///< RFC 3339
  double epoch = 0;     ///< seconds since 1970
  double uptime = 0;    ///< seconds since the boot
  std::string boot_id;  ///< /proc/sys/kernel/random/boot_id
};

/// Since when pods that hold GPUs do not use them: RFC 3339 by UID. See idle.hpp.
using IdlePods = std::map<std::string, std::string>;

/// The file state.json of a node.
struct HealthState {
  std::string node;  ///< name of its Node object
  Moment last;       ///< of the last run; empty: there was none
  std::vector<HealthCondition> conditions;
  std::string first;                ///< the first broken link
  int gpus = 0;                     ///< the most GPUs that a run saw
  GpuStates gpu_states;             ///< none: the run could not check them
  bool published = false;           ///< the API server has these conditions
  Moment sent;                      ///< when it got them
  int repeated = 0;                 ///< how often these statuses were sent
  std::string problem;              ///< why it did not get them; empty: it did
  std::vector<HealthEvent> events;  ///< to be sent
  int dropped = 0;                  ///< events that were dropped because too many waited
  Streaks streaks;                  ///< of a control-plane node
  std::vector<std::string> limited;
  IdlePods idle;  ///< on this node
};
inline constexpr std::size_t most_events = 32;

[[nodiscard]] base::Tree to_tree(const HealthState& state);
/// Missing members have their defaults.
[[nodiscard]] HealthState state_in(const base::Tree& tree);

/// Adds an event; the oldest is dropped where too many wait.
void enqueue(HealthState& state, HealthEvent event);

/// Each status is sent by so many runs, so that taints follow from several runs.
inline constexpr int send_repeated = 2 * untaint_after;
/// Whether the conditions must be sent: the API server does not have them, or not of enough runs, or it got
/// them five minutes ago, or before the boot. The uptime decides, so that a clock that is set delays nothing.
[[nodiscard]] bool must_publish(const HealthState& state, const Moment& now);

/// Seconds by which the clock was set between two moments of one boot; nothing: by less than a minute, or it
/// is unknown.
[[nodiscard]] std::optional<long long> clock_step(const Moment& before, const Moment& now);

/// A line of the history, with its newline: the state after a run. `note`: what else happened; empty:
/// nothing.
[[nodiscard]] std::string history_line(const Moment& now, const HealthState& state, const std::string& note);

/// A line of the history of one node.
struct HistoryEntry {
  std::string host, at;
  std::vector<HealthCondition> conditions;  ///< type and status
  GpuStates gpus;
  std::string first, note;
};
/// The lines of playbooks/read/health.sh `history`; damaged ones are counted.
struct History {
  std::vector<HistoryEntry> entries;
  std::string last;  ///< time of the last run; empty: unknown
  int damaged = 0;
};
[[nodiscard]] History read_history(const std::string& host, std::string_view lines);

/// The answer of playbooks/read/health.sh `status`.
struct HealthOnHost {
  std::string host, node;  ///< node: of its last run; without one the host's name
  std::string timer;       ///< active, inactive, failed
  std::string service;     ///< result of the last run: success, timeout, exit-code, oom-kill
  std::string message;     ///< its last message
  std::optional<HealthState> state;
  bool reached = true;
};
[[nodiscard]] HealthOnHost read_health_status(const std::string& host, std::string_view output);

/// A node of `gpuadm health status`.
struct HealthRow {
  HealthOnHost on;
  std::vector<HealthCondition> conditions;  ///< of its Node object; none: it has none, or it was not read
  std::optional<bool> tainted;              ///< nothing: not read
};
[[nodiscard]] base::Tree to_tree(std::span<const HealthRow> rows);
/// A condition that is False is a problem. A node that does not check itself, or was not reached, is unread.
[[nodiscard]] Verdict health_verdict(std::span<const HealthRow> rows);
/// Ends with the verdict.
[[nodiscard]] std::string health_table(std::span<const HealthRow> rows, std::size_t width);
[[nodiscard]] base::Tree to_tree(std::span<const HistoryEntry> entries);
[[nodiscard]] std::string history_table(std::span<const HistoryEntry> entries, std::size_t width);
/// The conditions and the GPUs of every node over time. `last`: when each host was last checked; what comes
/// after it is unknown, and so is everything before its first entry.
[[nodiscard]] report::TimelinePage health_timeline(std::span<const HistoryEntry> entries,
                                                   const std::map<std::string, std::string>& last);

}  // namespace cluster
