#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/kube/explanation.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/options.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"

#include "commands/command.hpp"

#include <optional>
#include <string>

/// For commands that create pods, and report why they do not run: `headline()` of the explanation is one
/// line.
namespace commands {

/// Reads the pod from the first control-plane node that responds, and, if its containers failed with a GPU
/// error, the facts of its node's host, if that is in the fleet. Faults: as kube::explain, and those of
/// the last host.
[[nodiscard]] base::Result<kube::PodExplanation> explain_pod(const spec::Cluster& cluster,
                                                             const kube::PodName& name,
                                                             transport::Fleet& fleet,
                                                             const assets::Store& assets);

/// Why a pod of a workload does not run: the first broken link of `gpuadm explain pod`.
struct PodReason {
  std::string what;      ///< one sentence
  std::string fix;       ///< may be empty
  std::string log = {};  ///< the last lines of a container that failed, indented; empty: none
};
/// `name`: of the pod or of the workload. Nothing if it runs or has completed, if it could not be read, or
/// after Ctrl-C.
[[nodiscard]] std::optional<PodReason> reason_of(const spec::Cluster& cluster, const kube::PodName& name,
                                                 session::ClusterClient& client);

/// The last lines of the first log of an explanation, below a line with its container; at most `most`.
[[nodiscard]] std::string last_lines(const kube::PodExplanation& explanation, std::size_t most);
/// "gpuadm explain pod NAMESPACE/NAME …" with the arguments that select the same cluster.
[[nodiscard]] std::string explain_command(const kube::PodName& name, const session::Hosts& hosts,
                                          const session::Connection& connection);
/// A fix, and the command that shows the rest of the explanation.
[[nodiscard]] std::string with_details(const std::string& fix, const std::string& command);

}  // namespace commands
