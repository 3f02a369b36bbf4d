#pragma once

#include "gpuadm/kube/explanation.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What the links of one pod are evaluated from.
namespace kube::pod {

/// `pod_alone`: events, nodes and logs were not read; what they would show is not missing.
enum class Scope { everything, pod_alone };

struct Context {
  const PodView& view;
  const Pod& pod;
  const facts::Facts* host = nullptr;        ///< of its node, if they were read
  std::vector<const PodEvent*> events = {};  ///< about the pod, the oldest first
  Scope scope = Scope::everything;
};

[[nodiscard]] PodLink passed(std::string link, std::string what);
[[nodiscard]] PodLink pending(std::string link, std::string what, std::vector<std::string> seen = {});
[[nodiscard]] PodLink broken(std::string link, std::string reason, std::string what,
                             std::vector<std::string> seen, std::string fix);

/// The latest event with one of these reasons, or nullptr.
[[nodiscard]] const PodEvent* latest(const Context& context, std::initializer_list<std::string_view> reasons);
/// "FailedMount: MESSAGE (4 times, last at 14:02 UTC)"
[[nodiscard]] std::string evidence(const PodEvent& event, const PodView& view);

/// The last warning about a Workload of Kueue, by its name without the suffix: "job-NAME-"; nullptr: there is
/// none.
[[nodiscard]] const PodEvent* workload_event(const PodView& view, const std::string& prefix);
/// Whether any container of the pod has been started.
[[nodiscard]] bool has_started(const Pod& pod);
/// The container that keeps the pod from working: the first init container that has not completed, or the
/// first container that ended with an error, waits, or is not ready. nullptr: none.
[[nodiscard]] const Container* culprit(const Pod& pod);
/// How the container ended last: its state, or the one before. nullptr: it did not end.
[[nodiscard]] const ContainerState* ending(const Container& container);
/// The status in the table of kubectl: "Pending", "CrashLoopBackOff", "Init:Error".
[[nodiscard]] std::string status_of(const Pod& pod);
/// "container main", "init container setup".
[[nodiscard]] std::string named(const Container& container);
[[nodiscard]] const facts::Node* node_named(const PodView& view, std::string_view name);

/// Whether a text contains a part, in any case.
[[nodiscard]] bool mentions(std::string_view text, std::string_view part);
[[nodiscard]] bool mentions_any(std::string_view text, std::initializer_list<std::string_view> parts);
/// The text between the first `before` and the next `after`; empty if there is none.
[[nodiscard]] std::string between(std::string_view text, std::string_view before, std::string_view after);
/// One line, shortened in its middle to about `limit` bytes.
[[nodiscard]] std::string brief(std::string_view text, std::size_t limit = 300);

/// "14:02 UTC", or with the date if it is not of the last 24 hours.
[[nodiscard]] std::string clock_text(double seconds, std::optional<double> now);
/// "2 GPUs", "1 MIG device 1g.10gb", "2 of rdma/hca".
[[nodiscard]] std::string pieces(double count, std::string_view resource);
/// "1.5 CPUs", "12.0 GiB of memory", "2 GPUs".
[[nodiscard]] std::string amount_text(double amount, std::string_view resource);
/// "is" for one, otherwise "are".
[[nodiscard]] std::string_view is_are(double count);

/// What the startup or readiness probe of a running container shows: it may still pass, or has failed for
/// Adds the error in the log of a container that runs, if its last lines are about one.
void add_error_of_running(const Container& container, std::vector<std::string>& seen);
/// longer than it allows. Nothing: no probe failed.
[[nodiscard]] std::optional<PodLink> probe_failure(const Context& context, const Container& container,
                                                   const std::string& link);

/// A container that waits for a reason that no link knows, in its own words; nothing: there is none.
[[nodiscard]] std::optional<PodLink> other_wait(std::string link, const Pod& pod);

/// All links of an existing pod, in order.
[[nodiscard]] std::vector<PodLink> evaluate(const Context& context);

// The links, in order. Each returns its state; later ones are only called if the earlier ones passed.
[[nodiscard]] PodLink scheduled(const Context& context);
[[nodiscard]] PodLink node(const Context& context);
[[nodiscard]] PodLink volumes(const Context& context);
[[nodiscard]] PodLink sandbox(const Context& context);
[[nodiscard]] PodLink image(const Context& context);
[[nodiscard]] PodLink configuration(const Context& context);
[[nodiscard]] PodLink start(const Context& context);
[[nodiscard]] PodLink run(const Context& context);
[[nodiscard]] PodLink ready(const Context& context);

/// Why the API server does not create a pod, from its message.
[[nodiscard]] PodLink refused(const std::string& message, const std::string& ns,
                              std::vector<std::string> seen = {});
/// Why a workload or controller has no pod, or fewer than requested.
[[nodiscard]] PodLink created(const PodView& view, const PodTarget& target);
/// The owners of the target's pods, the target first.
[[nodiscard]] std::vector<const PodOwner*> owners_of(const PodView& view, const PodTarget& target);

/// Pods that hold GPUs on the nodes that have what the pod requests.
[[nodiscard]] std::vector<GpuHolder> holders(const PodView& view, const Pod& pod);

}  // namespace kube::pod

namespace kube {

/// The first broken link; otherwise the first unknown one; nullptr: all passed.
[[nodiscard]] const PodLink* first_of(const std::vector<PodLink>& links);
/// The verdict of a pod's first broken link; nullptr: there is none.
[[nodiscard]] PodVerdict verdict_of(const Pod& pod, const PodLink* first, const WaitRules& rules = {});

}  // namespace kube
