#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/kube/pod_view.hpp"
#include "gpuadm/kube/verdict.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Why a pod does not run, or failed: the links between its creation and its work, and the first broken one.
namespace kube {

using base::Result;

/// `unknown`: it could not be determined, or an earlier link is broken, or it is in progress.
enum class LinkState { passed, broken, unknown };

struct PodLink {
  std::string link;  ///< "created", "scheduled", "node", "volumes", "sandbox", "image", "configuration",
                     ///< "start", "run", "ready"
  LinkState state = LinkState::unknown;
  std::string reason;             ///< of a problem, for programs: "gpus-in-use"; empty: there is none
  std::string what;               ///< one sentence: "2 GPUs are requested, 1 is free on gpu1"
  std::vector<std::string> seen;  ///< evidence
  std::string fix;                ///< what to type or to change
};

/// A pod that holds GPUs on a node that the explained pod could use.
struct GpuHolder {
  std::string holder;  ///< "notebook/anna", or namespace/name of the pod
  std::string ns, pod, node, resource;
  long long count = 0;
  std::optional<double> since;  ///< seconds since 1970
};

/// The last lines of a container that ended or is not ready; without a log, its termination message.
struct LogExcerpt {
  std::string container;
  bool is_previous = false;  ///< of the run before the current one
  bool is_message = false;   ///< there is no log: the termination message of the container
  std::vector<std::string> lines;
  std::size_t end = 0;  ///< the lines up to the error that ended the program; a launcher may print more
  /// At most `most` lines, up to that error.
  [[nodiscard]] std::span<const std::string> shown(std::size_t most) const;
  /// "last log lines of container main before its restart:", "log of container main up to its error:",
  /// "termination message of container main:"
  [[nodiscard]] std::string title() const;
};

/// Another pod of the same workload or controller.
struct OtherPod {
  std::string name, status, what;
};

struct PodExplanation {
  std::string ns, name;   ///< as requested, with its namespace
  std::string kind;       ///< what the name means: "Pod", "notebook", "train", "Job"
  std::string pod, node;  ///< the explained pod; empty: there is none
  std::string status;     ///< as in the table of kubectl: "Pending", "CrashLoopBackOff", "Completed"
  PodVerdict verdict;
  std::vector<PodLink> links;
  std::vector<GpuHolder> holders;
  std::vector<LogExcerpt> logs;
  std::vector<OtherPod> others;
  std::optional<double> clock;  ///< of the control plane
  /// The first broken link; otherwise the first unknown one; nullptr: all passed.
  [[nodiscard]] const PodLink* first() const;
  /// Whether the pod runs and is ready, or has completed.
  [[nodiscard]] bool is_well() const { return first() == nullptr; }
  /// One line: "Pending: 2 GPUs are requested, 1 is free on gpu1; notebook/anna holds 3 since 14:02 UTC".
  [[nodiscard]] std::string headline() const;
};

/// A requested pod, notebook, training job or controller; an empty namespace: default, otherwise any.
struct PodName {
  std::string ns, name;
};

/// Parses "[NAMESPACE/]NAME". Fault::usage if a part cannot be a name in Kubernetes.
[[nodiscard]] Result<PodName> parse_pod_name(std::string_view text);

/// Facts of nodes' hosts, by the names of the nodes.
using NodeFacts = std::map<std::string, const facts::Facts*>;

/// The explanation of the worst of the pods that the name means. Fault::usage with the nearest names if
/// nothing has that name, or if several namespaces have it; Fault::remote if the API server did not return
/// the pods.
[[nodiscard]] Result<PodExplanation> explain(const PodView& view, const PodName& asked,
                                             const NodeFacts& hosts = {});

/// The node whose host's facts (GPUs, driver, Xids) would add to the explanation; empty: none.
[[nodiscard]] std::string node_to_inspect(const PodExplanation& explanation);

/// At most about 20 lines of `width` columns (0: any).
[[nodiscard]] std::string to_text(const PodExplanation& explanation, std::size_t width);
[[nodiscard]] base::Tree to_tree(const PodExplanation& explanation);

}  // namespace kube
