#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/kube/pod.hpp"

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// What becomes of a pod: one judgment for every screen and every wait.
namespace kube {

/// How far a pod is.
enum class Stage { no_pod, unscheduled, starting, running, ready, succeeded, failed };

/// Whether it can still become ready.
enum class Outlook {
  waiting,   ///< nothing is known to prevent it
  doubtful,  ///< a problem that may pass by itself
  hopeless   ///< a problem that lasts until the pod, or what it names, is changed
};

struct PodVerdict {
  Stage stage = Stage::no_pod;
  Outlook outlook = Outlook::waiting;
  std::string reason;     ///< of a problem, for programs: "image-not-found"; empty: there is none
  std::string text;       ///< the problem in one sentence, printable; empty: there is none
  std::string fix;        ///< what to type or to change; may be empty
  std::string pod, node;  ///< empty: none
};

/// How long a wait continues in spite of a problem.
struct WaitRules {
  int restarts = 0;  ///< of a container that ends again and again; fewer leave it doubtful
  std::chrono::seconds hopeless_for{0};
  std::optional<std::chrono::seconds> doubtful_for = std::nullopt;  ///< nothing: until the wait's own end
  /// A container that the runtime or the kubelet cannot create is hopeless, although some such reasons pass.
  bool must_be_created = false;
};
/// A notebook, or the pods of an add-on.
inline constexpr WaitRules notebook_wait{.doubtful_for = std::chrono::seconds(45)};
/// A rank of a training job, or a test pod, may wait for its node or its image as long as the job or the test
/// does; a container that cannot be created does not become better by waiting.
inline constexpr WaitRules rank_wait{.must_be_created = true};
/// Pods of the cluster itself: while it is created, they end until what they depend on runs.
inline constexpr WaitRules cluster_wait{.restarts = 5, .hopeless_for = std::chrono::seconds(30)};

/// Whether a wait ends because of an outlook that has lasted so long.
[[nodiscard]] bool ends_wait(const WaitRules& rules, Outlook outlook, std::chrono::seconds lasted);

/// The verdict on a pod from the pod alone: events, nodes and logs are not needed. `explain` adds them.
[[nodiscard]] PodVerdict judge(const Pod& pod, const WaitRules& rules = {});
/// Of the newest pod that is not being deleted and has not ended; of the newest ended one if there is no
/// other; without a pod, why its Deployment has none. `objects`: the Deployment and its pods.
[[nodiscard]] PodVerdict judge(std::span<const base::Tree> objects, const WaitRules& rules = {});

/// What a wait for the pod waits for, as one line: "waiting for the image and the volumes on gpu1".
[[nodiscard]] std::string describe(const PodVerdict& verdict);
/// "waiting", "doubtful", "hopeless".
[[nodiscard]] std::string_view name_of(Outlook outlook);
/// "no pod", "unscheduled", "starting", "running", "ready", "succeeded", "failed".
[[nodiscard]] std::string_view name_of(Stage stage);

}  // namespace kube
