#pragma once

#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/workload/serve.hpp"

#include "commands/workloads/serve/serve_create.hpp"

#include <string>
#include <vector>

/// The served models of a cluster file: compared with the cluster, and made.
namespace commands {

/// The options of `gpuadm serve create` that say the same.
[[nodiscard]] ServeCreateOptions options_of(const spec::Served& served, const Common& common,
                                            const Hosts& hosts);
/// What needs no cluster. Fault::blocked with the place in the file for each that cannot be served.
[[nodiscard]] Result<> check_described(const spec::Cluster& cluster, const std::filesystem::path& file,
                                       const assets::Store& assets);

/// One that differs.
struct DescribedModel {
  const spec::Served* served;
  bool exists = false;
  std::vector<workload::ServeChange> changes;  ///< of an existing one
};
struct DescribedModels {
  std::vector<DescribedModel> changes;  ///< in the order of the file
  std::vector<std::string> notes;       ///< about those that are stopped, which stay as they are
};
/// Compares the served models of a cluster file, to which the result refers. Another commit of the same
/// revision on a hub is not a difference. Fault::blocked with the place in the file for each that cannot be
/// served; other errors as those of plan_serve.
[[nodiscard]] Result<DescribedModels> compare_models(const spec::Cluster& cluster, const Common& common,
                                                     const Hosts& hosts, Io& io);
/// "Serve the model llama", "Update the served model team/llama"
[[nodiscard]] std::string title_of(const DescribedModel& model);
/// What changes, as lines of a diff.
[[nodiscard]] std::string diff_of(const DescribedModel& model);

}  // namespace commands
