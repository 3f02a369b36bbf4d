#include "gpuadm/base/text.hpp"

#include "checks/chain_words.hpp"
#include "checks/proof.hpp"
#include "checks/see.hpp"
#include "checks/whole.hpp"

#include <algorithm>
#include <array>

/// The chain's links that pods show which were made for it.
namespace checks {

namespace {

using facts::Pod;
using report::Finding;

struct Made {
  std::vector<const Pod*> pods;
  const facts::Space& seen;
  [[nodiscard]] std::span<const std::string> log_of(const Pod& pod) const {
    const auto place = seen.logs.find(pod.name);
    return place == seen.logs.end() ? std::span<const std::string>() : place->second;
  }
};

Made made_for(const Trial& trial, const facts::Space& seen) {
  Made made{{}, seen};
  if (seen.pods)
    for (const Pod& pod : *seen.pods)
      if (pod.name.starts_with(trial.prefix)) made.pods.push_back(&pod);
  return made;
}

bool has_ended(const Pod& pod) {
  return pod.phase == "Succeeded" || pod.phase == "Failed";
}

/// Its container waits for what does not come by itself.
bool is_hopeless(const Pod& pod) {
  constexpr std::array reasons = {"ErrImageNeverPull",    "InvalidImageName",  "ImageInspectError",
                                  "CreateContainerError", "RunContainerError", "CreateContainerConfigError"};
  return std::ranges::any_of(pod.waiting, [&](const std::string& reason) {
    return std::ranges::find(reasons, reason) != reasons.end();
  });
}

bool is_settled(const Trial& trial, const Pod& pod, const Made& made) {
  if (has_ended(pod) || is_hopeless(pod)) return true;
  if (trial.link == Link::scheduling) return pod.phase == "Running" || !pod.unscheduled.empty();
  if (trial.link != Link::reload) return false;
  return facts::parse_proof(made.log_of(pod)).rounds.size() >= trial.rounds;
}

/// What is wrong with a pod, in the words of whoever said it.
std::string words_of(const Pod& pod, const Made& made) {
  std::string text = fmt::format("{} is {}", pod.name, trouble_of(pod));
  for (const std::string& more : {pod.waits_for, pod.unscheduled})
    if (!more.empty()) return text + ": " + more;
  const auto log = made.log_of(pod);
  return log.empty() ? text : text + "; it said: " + log.back();
}

Finding not_made(const Trial& trial, const GpuNode& on) {
  return broken(trial.link, on, "the pods of the trial are not there", "",
                "kubectl get events -A, and look for what refused them");
}

/// What the scheduler says of a pod for which the node has no GPU left.
std::string lacks_gpu(const GpuNode& on) {
  return on.claims.empty() ? "Insufficient " + on.resource : "cannot allocate all claims";
}

Finding see_scheduling(const Trial& trial, const GpuNode& on, const Made& made) {
  long long running = 0, waiting = 0;
  std::string waits, wrong;
  for (const Pod* pod : made.pods) {
    const bool enough_no_more = contains(pod->unscheduled, lacks_gpu(on));
    running += pod->phase == "Running";
    waiting += enough_no_more;
    if (enough_no_more)
      waits = pod->unscheduled;
    else if (pod->phase != "Running" && wrong.empty())
      wrong = words_of(*pod, made);
  }
  const std::string seen = fmt::format("{} of {} pods with one GPU run, {} wait{}: {}", running, trial.pods,
                                       waiting, waiting == 1 ? "s" : "", waits);
  if (!wrong.empty())
    return broken(trial.link, on, "a pod with a GPU does not start", wrong, "gpuadm doctor --stage cluster");
  if (running != on.free())
    return broken(trial.link, on,
                  running < on.free() ? "fewer pods get a GPU than the node has free"
                                      : "more pods get a GPU than the node has free",
                  seen, "kubectl describe node " + on.node);
  return holds(trial.link, on,
               on.held > 0 ? fmt::format("{} ({} held: {})", seen, on.held, some(on.holders)) : seen);
}

Finding see_pod(const Trial& trial, const GpuNode& on, const Made& made) {
  const Pod& pod = *made.pods.front();
  const auto log = made.log_of(pod);
  const auto gpus =
      std::ranges::count_if(log, [](const std::string& line) { return line.starts_with("GPU "); });
  if (pod.phase != "Succeeded")
    return broken(trial.link, on, "nvidia-smi does not run in a pod with a GPU", words_of(pod, made),
                  "the runtime gives pods no driver: set up the nvidia runtime, or CDI");
  if (gpus != 1)
    return broken(trial.link, on, fmt::format("a pod with one GPU sees {}", gpus),
                  log.empty() ? "nvidia-smi -L said nothing" : base::join({log.begin(), log.end()}, "; "),
                  gpus == 0 ? "nvidia-smi -L on the node, and in the device plugin's pod"
                            : "the pod's devices are not limited: gpuadm doctor --stage cluster --only gk.");
  return holds(trial.link, on, std::string(base::trim(log.front())));
}

Finding see_compute(const Trial& trial, const GpuNode& on, const Made& made, const Floors& floors) {
  std::vector<facts::ProofGpu> gpus;
  for (const Pod* pod : made.pods) {
    facts::Proof proof = facts::parse_proof(made.log_of(*pod));
    if (const std::string wrong = wrong_in(proof, on.shares > 1 ? Floors() : floors); !wrong.empty())
      return broken(trial.link, on, "a GPU does not do what it should", wrong,
                    "gpuadm doctor --stage node --only gpu.");
    if (pod->phase != "Succeeded")
      return broken(trial.link, on, "a pod does not compute", words_of(*pod, made),
                    "kubectl describe pod, and the log of the node's kubelet");
    if (static_cast<long long>(proof.gpus.size()) != trial.gpus)
      return broken(trial.link, on, fmt::format("a pod with {} GPUs sees {}", trial.gpus, proof.gpus.size()),
                    base::join(proof.others, "; "), "gpuadm doctor --stage cluster --only gk.");
    std::ranges::move(proof.gpus, std::back_inserter(gpus));
  }
  return holds(trial.link, on, figures_of(gpus));
}

Finding see_reload(const Trial& trial, const GpuNode& on, const Made& made) {
  const Pod& pod = *made.pods.front();
  const facts::Proof proof = facts::parse_proof(made.log_of(pod));
  if (pod.phase != "Running" || proof.rounds.size() < trial.rounds)
    return broken(trial.link, on, "a pod that keeps a GPU does not run on", words_of(pod, made),
                  "kubectl describe pod, and the log of the node's kubelet");
  const std::string last = proof.others.empty() ? "it cannot open it" : proof.others.back();
  if (proof.rounds.front() != 0)
    return broken(trial.link, on, "a pod cannot open its GPU", last, "gpuadm verify --only pod,compute");
  if (proof.rounds.back() != 0)
    return broken(
        trial.link, on, "a pod loses its GPU when systemd reloads", last,
        "nvidia-ctk system create-dev-char-symlinks --create-all on the node, and restart the pods");
  return holds(trial.link, on,
               fmt::format("it opened its GPU {} times, the last times after systemctl daemon-reload",
                           proof.rounds.size()));
}

}  // namespace

Trial trial_of(Link link, const GpuNode& on, std::size_t index) {
  Trial trial{.link = link, .prefix = fmt::format("{}-{}-", name_of(link), index)};
  if (on.allocatable == 0) {
    trial.why_none = fmt::format("the node offers no {}", on.resource);
  } else if (link == Link::scheduling) {
    trial.pods = on.free() + 1;
    // A claim is allocated some time after its pod was made, and the scheduler says meanwhile that it is not.
    if (!on.claims.empty()) trial.running = on.free();
  } else if (on.free() == 0) {
    trial.why_none = "every GPU of it is held: " + some(on.holders);
  } else if (link == Link::compute && on.mig) {
    trial.pods = on.free();  // a program sees one partition at most
  } else {
    trial.pods = 1;
    if (link == Link::compute && on.shares == 1) trial.gpus = on.free();
  }
  return trial;
}

bool is_settled(const Trial& trial, const facts::Space& seen) {
  const Made made = made_for(trial, seen);
  return static_cast<long long>(made.pods.size()) == trial.pods &&
         std::ranges::count(made.pods, "Running", &Pod::phase) >= trial.running &&
         std::ranges::all_of(made.pods, [&](const Pod* pod) { return is_settled(trial, *pod, made); });
}

std::size_t rounds_of(const Trial& trial, const facts::Space& seen) {
  const Made made = made_for(trial, seen);
  std::optional<std::size_t> least;
  for (const Pod* pod : made.pods) {
    const std::size_t rounds = facts::parse_proof(made.log_of(*pod)).rounds.size();
    least = std::min(least.value_or(rounds), rounds);
  }
  return least.value_or(0);
}

Finding examine_trial(const Trial& trial, const GpuNode& on, const facts::Space& seen, const Floors& floors) {
  const Made made = made_for(trial, seen);
  if (static_cast<long long>(made.pods.size()) != trial.pods || made.pods.empty()) return not_made(trial, on);
  switch (trial.link) {
    case Link::scheduling:
      return see_scheduling(trial, on, made);
    case Link::pod:
      return see_pod(trial, on, made);
    case Link::compute:
      return see_compute(trial, on, made, floors);
    default:
      return see_reload(trial, on, made);
  }
}

}  // namespace checks
