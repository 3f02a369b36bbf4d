#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/report/finding.hpp"

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The health of a node's GPUs as conditions of its Node object, and the taint that follows from them. Pure.
namespace cluster {

using base::Result;

/// Conditions of a Node object, in the order in which they are shown.
inline constexpr std::array<std::string_view, 3> health_types = {"GPUHealthy", "GPUFabricHealthy",
                                                                 "GPUDriverHealthy"};
inline constexpr std::string_view health_taint = "gpuadm.io/gpu-unhealthy";

/// Which findings make a condition False, and whether the node is tainted then. `off`: blockers, no taint.
enum class TaintPolicy { off, blocker, warning };
[[nodiscard]] std::string_view name_of(TaintPolicy policy);
[[nodiscard]] std::optional<TaintPolicy> taint_policy_named(std::string_view name);

struct HealthCondition {
  std::string type;
  std::string status;           ///< True, False, Unknown
  std::string reason, message;  ///< reason: a word such as CheckFailed; message: the first broken link
  std::string since;            ///< when the status changed, RFC 3339
};

/// The result of one run on one node.
struct HealthReport {
  std::vector<HealthCondition> conditions;  ///< none: the node has, and had, no GPU
  std::string first;                        ///< the node's first broken link, GPU or not; empty: none
  int gpus = 0;                             ///< GPUs that the node has
};

/// "ok", "warning", "broken" or "quarantined" of each GPU, by UUID.
using GpuStates = std::map<std::string, std::string>;
/// The GPUs that the driver lists: by the most severe open finding that names them, unless they are in
/// quarantine.
[[nodiscard]] GpuStates gpu_states(std::span<const report::Finding> findings, const facts::Nvidia& nvidia);

[[nodiscard]] base::Tree to_tree(const GpuStates& states);
[[nodiscard]] GpuStates gpu_states_in(const base::Tree& tree);

/// The number of GPUs on the PCI bus; where it cannot be read, the number that nvidia-smi lists.
[[nodiscard]] int gpus_of(const facts::Nvidia& nvidia);

/// Evaluates the findings of one node. `known`: the GPUs that an earlier run saw; fewer now make GPUHealthy
/// False.
[[nodiscard]] HealthReport judge_health(std::span<const report::Finding> findings, int gpus, int known,
                                        TaintPolicy policy);

/// The report of a run that could not check: every condition is Unknown for this reason, except that the
/// driver is unhealthy if `driver_fails`.
[[nodiscard]] HealthReport unchecked_health(const std::string& reason, const std::string& message,
                                            bool driver_fails, int known);

/// Sets `since`: kept where the status is unchanged, otherwise `now`. Returns the conditions whose status,
/// reason or message changed.
std::vector<HealthCondition> carry_over(std::span<const HealthCondition> before,
                                        std::vector<HealthCondition>& conditions, const std::string& now);

[[nodiscard]] base::Tree to_tree(std::span<const HealthCondition> conditions);
/// Ignores entries without a type.
[[nodiscard]] std::vector<HealthCondition> conditions_in(const base::Tree& list);

/// Puts these conditions into a Node object, with `heartbeat` as their time; others are kept. None: removes
/// ours. Returns whether the node has changed.
bool set_conditions(base::Tree& node, std::span<const HealthCondition> conditions,
                    const std::string& heartbeat);
/// Our conditions of a Node object.
[[nodiscard]] std::vector<HealthCondition> conditions_of_node(const base::Tree& node);
[[nodiscard]] bool has_health_taint(const base::Tree& node);

/// An Event about a node, which `kubectl describe node` shows.
struct HealthEvent {
  std::string name;  ///< of the object, unique
  bool warning = true;
  std::string reason, message, at;
};
[[nodiscard]] base::Tree event_of(const HealthEvent& event, const std::string& node);

/// One node as the control plane sees it.
struct NodeHealth {
  std::string name;
  bool control_plane = false, ready = false, tainted = false;
  bool watched = false;         ///< it has our conditions
  std::optional<bool> healthy;  ///< nothing: a condition is Unknown, and none is False
  std::string heartbeat;        ///< of its conditions: the time of the run that sent them
};
/// Parses the lines of playbooks/health-api.sh `nodes`; others are ignored.
[[nodiscard]] std::vector<NodeHealth> read_node_health(std::string_view output);

/// How many runs of a node in a row were unhealthy or healthy. Runs are distinguished by their heartbeat: one
/// that is read twice counts once.
struct Streak {
  int bad = 0, good = 0;
  std::string heartbeat;  ///< of the last run that was read
  double since = 0;       ///< when it was first read, in seconds since 1970 by the clock of the reader
};
using Streaks = std::map<std::string, Streak>;
inline constexpr int taint_after = 2, untaint_after = 3;
/// An unchanged result is sent this often; conditions are too old if no result arrives for three times as
/// long.
inline constexpr double heartbeat_seconds = 300;

struct TaintPlan {
  std::vector<std::string> add, remove;
  std::vector<std::string> limited;  ///< unhealthy nodes that are not tainted because of the limit
  Streaks streaks;                   ///< for the next run
};
struct TaintRules {
  TaintPolicy policy = TaintPolicy::off;
  int percent = 25;     ///< of the watched nodes that are tainted at a time, and at least one
  double now = 0;       ///< seconds since 1970
  double interval = 0;  ///< seconds since the last run of the reader, which nodes have the same timer as
};
/// Taints nodes that are unhealthy twice in a row, untaints those that are healthy three times in a row. The
/// health of a node whose conditions are too old is not known. With TaintPolicy::off every taint is removed.
[[nodiscard]] TaintPlan plan_taints(std::span<const NodeHealth> nodes, const Streaks& before,
                                    const TaintRules& rules);
/// The control-plane node that sets the taints: the first one by name that is Ready; empty: none is.
[[nodiscard]] std::string node_that_sets_taints(std::span<const NodeHealth> nodes);

}  // namespace cluster
