#pragma once

#include "gpuadm/base/time.hpp"
#include "gpuadm/cluster/status.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/report/style.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "commands/command.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace commands {

/// GPUs on which a pod has computed, and when.
struct Computed {
  long long gpus = 0;
  base::Time at;
};

/// A cluster after a run that created, extended or upgraded it: only what was measured.
struct RunSummary {
  const spec::Cluster& cluster;
  const facts::Census* census = nullptr;            ///< from after the run; set if `status` is
  std::optional<std::filesystem::path> kubeconfig;  ///< nothing: root's on its hosts
  bool waited_for = false;                          ///< whether the run waited for the cluster
  std::optional<base::Version> kubernetes;          ///< that the run installed
  std::optional<cluster::Status> status;            ///< nothing: it was not read
  std::optional<Computed> computed;                 ///< nothing: no pod was created to compute
  std::string notebook;                             ///< that is ready; empty: none
  std::string unread;                               ///< why there is no status; empty: it was not tried
};

/// What was measured, what is missing with its remedy, and the next three commands: at most 18 rows of 80
/// columns. Suggested commands have what was typed.
[[nodiscard]] std::string to_text(const RunSummary& summary, base::Time now, const report::Style& style);

/// The result of a complete reset or undo: "gpu1 is restored to its state before gpuadm changed it".
[[nodiscard]] std::string restored(const std::vector<std::string>& hosts, std::string_view before);

}  // namespace commands
