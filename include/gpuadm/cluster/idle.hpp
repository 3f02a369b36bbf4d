#pragma once

#include "gpuadm/base/time.hpp"
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
/// compute. On a GPU that several pods compute on, `readings.utilization` decides. After a boot, after more
/// than `longest` seconds without a run, and where the clock was set, the time of all of them starts again.
[[nodiscard]] IdlePods idle_pods(const IdlePods& before, const UsageReadings& readings,
                                 std::span<const UsagePart> parts, const Moment& last, const Moment& now,
                                 double longest);
/// The GPUs, by UUID, of which idle_pods needs `readings.utilization`: several pods compute on them.
[[nodiscard]] std::vector<std::string> shared_gpus_in_use(const UsageReadings& readings);

/// Whether the annotation was changed. No pods: it is removed.
bool set_idle_pods(base::Tree& node, const IdlePods& pods);
/// Whether the health checks of a Node have reported in the last 15 minutes.
[[nodiscard]] bool reports_health(const base::Tree& node, base::Time now);
/// Of a Node object. What is damaged is ignored.
[[nodiscard]] IdlePods idle_pods_of_node(const base::Tree& node);

/// Of a notebook that is idle: what would have changed if it had been used since an earlier moment at which
/// it was idle. Nothing: it is used, or that is not known. `status`, `kernels`: the answers of Jupyter's
/// /api/status and /api/kernels; nullptr: none. `gpus_idle_since`: nothing if the notebook has GPUs and they
/// are used, or that is not known; empty if it has none.
[[nodiscard]] std::optional<std::string> idle_mark(const base::Tree* status, const base::Tree* kernels,
                                                   const std::optional<std::string>& gpus_idle_since);

/// A notebook that was idle at the last check.
struct IdleNotebook {
  std::string mark;
  double since = 0;     ///< uptime of the control-plane node, in seconds
  bool warned = false;  ///< set by the caller, once its log has the warning
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
/// if that is less, and stopped at the limit, if it was warned before. Without a `mark` nothing follows; the
/// next one shows whether it was used. The uptime measures the time, so that a clock that is set stops
/// nothing.
[[nodiscard]] IdleVerdict next_step(IdleWatch& watch, const std::string& notebook,
                                    const std::optional<std::string>& mark, double limit, const Moment& now);

}  // namespace cluster
