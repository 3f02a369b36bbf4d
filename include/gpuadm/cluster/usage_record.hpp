#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/cluster/health_state.hpp"
#include "gpuadm/facts/gpu_users.hpp"
#include "gpuadm/facts/nvidia.hpp"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What a node records about the use of its GPUs: a row for each hour, GPU and holder. Pure.
namespace cluster {

/// `held`: by a pod, or by programs outside pods. `unknown`: it could not be read.
enum class UsageState { held, free, unknown };

/// Who holds a GPU or a part of it.
struct UsageHolder {
  std::string uid;             ///< of the pod; empty: programs outside pods
  std::string ns, pod;         ///< empty: unknown
  std::string kind, workload;  ///< its labels gpuadm.io/kind and gpuadm.io/name; empty: none
};

/// The programs that compute on a GPU.
struct GpuPrograms {
  std::set<std::string> pods;  ///< UIDs of their pods
  bool others = false;         ///< some are not in a pod
};

/// What one health run has read.
struct UsageReadings {
  const facts::Nvidia* nvidia = nullptr;               ///< nullptr: not read
  const facts::GpuAllocations* allocations = nullptr;  ///< nullptr: not read
  std::map<std::string, GpuPrograms> programs;         ///< by the UUID of the GPU
  /// 0 to 1, by the UUID of a GPU that several pods compute on, and by the UID of the pod.
  std::map<std::string, std::map<std::string, double>> utilization = {};
  int gpus = 0;  ///< that the node has; more than are listed: unknown
};

/// A GPU without MIG, an instance of MIG, or the rest of a GPU that no instance has.
struct UsagePart {
  std::string gpu, mig;  ///< UUIDs; mig: empty without MIG, "rest" for the rest
  double share = 1;      ///< of the GPU
  UsageState state = UsageState::unknown;
  std::vector<std::string> pods;      ///< UIDs of holders; held by none: programs outside pods
  std::optional<double> utilization;  ///< of the GPU, 0 to 1; MIG instances have none
  std::optional<double> power;        ///< of the whole GPU, in W
};
/// The parts of all GPUs; the shares of one GPU add up to 1. The share of a MIG instance is its part of the
/// GPU's memory. A GPU that the kubelet has allocated to nobody is held by the pods whose programs compute on
/// it, or by programs outside pods. `known`: UUIDs of earlier runs, for GPUs that are not listed.
[[nodiscard]] std::vector<UsagePart> usage_parts(const UsageReadings& readings,
                                                 std::span<const std::string> known);

/// What one holder had of one GPU in one hour. GPU seconds: a half of a GPU for two seconds is one.
struct UsageRow {
  std::string hour;  ///< "2026-11-30T12", UTC
  std::string gpu, mig;
  UsageState state = UsageState::unknown;
  UsageHolder holder;                ///< with UsageState::held
  double seconds = 0;                ///< GPU seconds
  double used = 0, used_of = 0;      ///< weighted by utilization; used_of: those whose utilization is known
  double energy = 0, energy_of = 0;  ///< J; energy_of: GPU seconds whose power is known
};
/// `batch`: of the rows that are written together. The same hour can be written twice with a clock that is
/// set back; with the same batch, it is the same row.
[[nodiscard]] base::Tree to_tree(const UsageRow& row, long long batch);
/// Nothing: it is damaged, or has a number that cannot be.
[[nodiscard]] std::optional<UsageRow> usage_row_in(const base::Tree& tree);

/// The file usage.json of a node: the rows of hours that have not ended, and what the next run needs.
struct UsageMeter {
  Moment last;                              ///< of the last run; empty: there was none
  long long batch = 1;                      ///< of its rows
  std::vector<std::string> gpus;            ///< UUIDs
  std::map<std::string, UsageHolder> pods;  ///< by UID
  std::vector<UsageRow> rows;
};
inline constexpr std::size_t most_usage_rows = 4096;  ///< in usage.json; time beyond them is not recorded
[[nodiscard]] base::Tree to_tree(const UsageMeter& meter);
/// Missing and damaged members have their defaults.
[[nodiscard]] UsageMeter usage_meter_in(const base::Tree& tree);

/// The longest time between two runs that counts, in seconds: three intervals of the timer, and at least five
/// minutes, because a run may take four (templates/gpuadm-health.service). A longer one is a gap.
[[nodiscard]] double longest_usage_interval(double timer_seconds);

/// Adds the time since the last run: all of it has the state, utilization and power of `parts`, which are
/// those of now. The uptime measures it, so that a clock that is set changes nothing; after a boot, and after
/// more than `longest` seconds, nothing is added. Names of pods are those of meter.pods.
void add_usage(UsageMeter& meter, const Moment& now, std::span<const UsagePart> parts, double longest);

/// The rows of other hours than that of `now`, as lines for usage.jsonl. Written twice, because the node
/// failed in between, they are identical, and read_usage counts them once.
[[nodiscard]] std::string usage_lines(const UsageMeter& meter, const Moment& now);
/// After they were written.
void drop_written_usage(UsageMeter& meter, const Moment& now);

/// The answer of playbooks/read/health.sh `usage`.
struct UsageRecord {
  std::vector<UsageRow> rows;
  bool exists = false;    ///< the node records
  bool complete = false;  ///< false: the answer was truncated
  int damaged = 0;        ///< lines that were ignored
};
[[nodiscard]] UsageRecord read_usage(std::string_view output);

}  // namespace cluster
