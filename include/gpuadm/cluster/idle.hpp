#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/cluster/health_state.hpp"
#include "gpuadm/cluster/usage_record.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Pods that hold GPUs and do not use them, and notebooks that stop when they are idle. Pure.
namespace cluster {

/// Annotation of a Node: its IdlePods as JSON, {"UID": "2026-11-30T12:00:00Z"}.
inline constexpr std::string_view idle_annotation = "gpuadm.io/gpus-idle-since";
inline constexpr std::size_t most_idle_pods = 256;  ///< of a node

/// Adds to `before` the pods that hold GPUs and do not use them, since `now`, and removes those that do, and
/// those of which it is not known. A pod does not use a GPU whose utilization is 0, or on which only others
/// compute. On a GPU that several pods compute on, `readings.utilization` decides. After a boot, and after
/// more than `longest` seconds without a run, the time of all of them starts again. Where the clock was set,
/// the times move with it.
[[nodiscard]] IdlePods idle_pods(const IdlePods& before, const UsageReadings& readings,
                                 std::span<const UsagePart> parts, const Moment& last, const Moment& now,
                                 double longest);
/// The GPUs, by UUID, of which idle_pods needs `readings.utilization`: several pods compute on them.
[[nodiscard]] std::vector<std::string> shared_gpus_in_use(const UsageReadings& readings);

/// Whether the annotation was changed. No pods: it is removed.
bool set_idle_pods(base::Tree& node, const IdlePods& pods);
/// Of a Node object. What is damaged is ignored.
[[nodiscard]] IdlePods idle_pods_of_node(const base::Tree& node);

/// What is known of a notebook at one moment.
struct NotebookUse {
  enum class State { unknown, used, idle };
  State state = State::unknown;
  /// What would have changed if it had been used since an earlier moment at which it was idle.
  std::string mark;
};
/// `status`, `kernels`: the answers of Jupyter's /api/status and /api/kernels; nullptr: none.
/// `gpus_idle_since`: nothing if the notebook has GPUs and they are used, or that is not known; empty if it
/// has none.
[[nodiscard]] NotebookUse notebook_use(const base::Tree* status, const base::Tree* kernels,
                                       const std::optional<std::string>& gpus_idle_since);

/// A notebook that was idle at the last check.
struct IdleNotebook {
  std::string mark;
  double since = 0;  ///< uptime of the control-plane node, in seconds
  bool warned = false;
};
/// The file idle.json of the control-plane node that stops notebooks.
struct IdleWatch {
  std::string boot_id;
  double next = 0;                                ///< uptime of the next check
  std::map<std::string, IdleNotebook> notebooks;  ///< by "NAMESPACE/NAME UID", the UID of the pod
};
[[nodiscard]] base::Tree to_tree(const IdleWatch& watch);
/// Missing and damaged members have their defaults.
[[nodiscard]] IdleWatch idle_watch_in(const base::Tree& tree);

/// Whether the time of the next check has come, also after a boot.
[[nodiscard]] bool is_check_due(const IdleWatch& watch, const Moment& now);

/// What to do with a notebook.
enum class IdleStep { none, warn, stop };
struct IdleVerdict {
  IdleStep step = IdleStep::none;
  double idle = 0;  ///< seconds
};
/// What follows from one reading of a notebook. It is warned when a quarter of `limit` is left, or 15 minutes
/// if that is less, and stopped at the limit, if it was warned before. What is unknown neither counts as idle
/// nor ends it. The uptime measures the time, so that a clock that is set stops nothing.
[[nodiscard]] IdleVerdict next_step(IdleWatch& watch, const std::string& notebook, const NotebookUse& use,
                                    double limit, const Moment& now);

}  // namespace cluster
