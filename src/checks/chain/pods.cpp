#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/overview.hpp"

#include "checks/chain/proof.hpp"
#include "checks/chain/words.hpp"
#include "checks/cluster/whole.hpp"
#include "checks/queries.hpp"

#include <algorithm>

/// The chain's links that are tested by pods created for them.
namespace checks {

namespace {

using facts::Pod;
using report::Finding;

struct Made {
  std::vector<const Pod*> pods;
  const facts::NamespaceState& seen;
  [[nodiscard]] std::span<const std::string> log_of(const Pod& pod) const {
    const auto place = seen.logs.find(pod.name);
    return place == seen.logs.end() ? std::span<const std::string>() : place->second;
  }
};

Made made_for(const PodTest& pod_test, const facts::NamespaceState& seen) {
  Made made{{}, seen};
  if (seen.pods)
    for (const Pod& pod : *seen.pods)
      if (pod.name.starts_with(pod_test.prefix)) made.pods.push_back(&pod);
  return made;
}

bool has_ended(const Pod& pod) {
  return pod.phase == "Succeeded" || pod.phase == "Failed";
}

bool is_decided(const PodTest& pod_test, const Pod& pod, const Made& made) {
  if (has_ended(pod) || kube::judge(kube::pod_of(pod), kube::rank_wait).outlook == kube::Outlook::hopeless)
    return true;
  if (pod_test.link == Link::scheduling) return pod.phase == "Running" || !pod.unscheduled.empty();
  if (pod_test.link != Link::reload) return false;
  return facts::parse_proof(made.log_of(pod)).rounds.size() >= pod_test.rounds;
}

/// The problem of a pod, as reported by its source.
std::string words_of(const Pod& pod, const Made& made) {
  std::string text = fmt::format("{} is {}", pod.name, trouble_of(pod));
  for (const std::string& more : {pod.waits_for, pod.unscheduled})
    if (!more.empty()) return text + ": " + more;
  const auto log = made.log_of(pod);
  return log.empty() ? text : text + "; its last line: " + log.back();
}

Finding not_made(const PodTest& pod_test, const GpuNode& on) {
  return broken(pod_test.link, on, "the test pods do not exist", "",
                "kubectl get events -A, and look for the reason");
}

/// The scheduler's message for a pod if the node has no free GPU.
std::string lacks_gpu(const GpuNode& on) {
  return on.claims.empty() ? "Insufficient " + on.resource : "cannot allocate all claims";
}

Finding check_scheduling(const PodTest& pod_test, const GpuNode& on, const Made& made) {
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
  const std::string seen = fmt::format("{} of {} pods with one GPU run, {} wait{}: {}", running,
                                       pod_test.pods, waiting, waiting == 1 ? "s" : "", waits);
  if (!wrong.empty())
    return broken(pod_test.link, on, "a pod with a GPU does not start", wrong,
                  "gpuadm doctor --stage cluster");
  if (running != on.free())
    return broken(pod_test.link, on,
                  running < on.free() ? "fewer pods get a GPU than the node has free"
                                      : "more pods get a GPU than the node has free",
                  seen, "kubectl describe node " + on.node);
  return holds(pod_test.link, on,
               on.held > 0 ? fmt::format("{} ({} held: {})", seen, on.held, some(on.holders)) : seen);
}

Finding check_pod(const PodTest& pod_test, const GpuNode& on, const Made& made) {
  const Pod& pod = *made.pods.front();
  const auto log = made.log_of(pod);
  const auto gpus =
      std::ranges::count_if(log, [](const std::string& line) { return line.starts_with("GPU "); });
  if (pod.phase != "Succeeded")
    return broken(pod_test.link, on, "nvidia-smi does not run in a pod with a GPU", words_of(pod, made),
                  "configure the nvidia runtime or CDI: the runtime gives pods no driver");
  if (gpus != 1)
    return broken(pod_test.link, on, fmt::format("a pod with one GPU sees {}", gpus),
                  log.empty() ? "nvidia-smi -L has no output" : base::join({log.begin(), log.end()}, "; "),
                  gpus == 0 ? "nvidia-smi -L on the node, and in the device plugin's pod"
                            : "gpuadm doctor --stage cluster --only gk.");
  return holds(pod_test.link, on, std::string(base::trim(log.front())));
}

Finding check_compute(const PodTest& pod_test, const GpuNode& on, const Made& made, const Floors& floors) {
  std::vector<facts::ProofGpu> gpus;
  for (const Pod* pod : made.pods) {
    facts::Proof proof = facts::parse_proof(made.log_of(*pod));
    if (const std::string wrong = wrong_in(proof, on.shares > 1 ? Floors() : floors); !wrong.empty())
      return broken(pod_test.link, on, "a GPU fails its test", wrong,
                    "gpuadm doctor --stage node --only gpu.");
    if (pod->phase != "Succeeded")
      return broken(pod_test.link, on, "a pod does not compute", words_of(*pod, made),
                    "kubectl describe pod, and the log of the node's kubelet");
    if (static_cast<long long>(proof.gpus.size()) != pod_test.gpus)
      return broken(pod_test.link, on,
                    fmt::format("a pod with {} GPU{} sees {}", pod_test.gpus, pod_test.gpus == 1 ? "" : "s",
                                proof.gpus.size()),
                    base::join(proof.others, "; "), "gpuadm doctor --stage cluster --only gk.");
    std::ranges::move(proof.gpus, std::back_inserter(gpus));
  }
  return holds(pod_test.link, on, figures_of(gpus));
}

Finding check_reload(const PodTest& pod_test, const GpuNode& on, const Made& made) {
  const Pod& pod = *made.pods.front();
  const facts::Proof proof = facts::parse_proof(made.log_of(pod));
  if (pod.phase != "Running" || proof.rounds.size() < pod_test.rounds)
    return broken(pod_test.link, on, "a pod that holds a GPU has stopped", words_of(pod, made),
                  "kubectl describe pod, and the log of the node's kubelet");
  const std::string last = proof.others.empty() ? "it cannot open it" : proof.others.back();
  if (proof.rounds.front() != 0)
    return broken(pod_test.link, on, "a pod cannot open its GPU", last, "gpuadm verify --only pod,compute");
  if (proof.rounds.back() != 0)
    return broken(
        pod_test.link, on, "a pod loses its GPU when systemd reloads", last,
        "nvidia-ctk system create-dev-char-symlinks --create-all on the node, and restart the pods");
  return holds(pod_test.link, on,
               fmt::format("it opened its GPU {} times, the last ones after systemctl daemon-reload",
                           proof.rounds.size()));
}

}  // namespace

PodTest pod_test_of(Link link, const GpuNode& on, std::size_t index) {
  PodTest pod_test{.link = link, .prefix = fmt::format("{}-{}-", name_of(link), index)};
  if (on.allocatable == 0) {
    pod_test.why_none = fmt::format("the node offers no {}", on.resource);
  } else if (link == Link::scheduling) {
    pod_test.pods = on.free() + 1;
    // A claim is allocated some time after its pod was created; until then the scheduler reports it as
    // unallocated.
    if (!on.claims.empty()) pod_test.running = on.free();
  } else if (on.free() == 0) {
    pod_test.why_none = "all of its GPUs are held: " + some(on.holders);
  } else if (link == Link::compute && on.mig) {
    pod_test.pods = on.free();  // a program sees one partition at most
  } else {
    pod_test.pods = 1;
    if (link == Link::compute && on.shares == 1) pod_test.gpus = on.free();
  }
  return pod_test;
}

bool is_decided(const PodTest& pod_test, const facts::NamespaceState& seen) {
  const Made made = made_for(pod_test, seen);
  return static_cast<long long>(made.pods.size()) == pod_test.pods &&
         std::ranges::count(made.pods, "Running", &Pod::phase) >= pod_test.running &&
         std::ranges::all_of(made.pods, [&](const Pod* pod) { return is_decided(pod_test, *pod, made); });
}

std::size_t rounds_of(const PodTest& pod_test, const facts::NamespaceState& seen) {
  const Made made = made_for(pod_test, seen);
  std::optional<std::size_t> least;
  for (const Pod* pod : made.pods) {
    const std::size_t rounds = facts::parse_proof(made.log_of(*pod)).rounds.size();
    least = std::min(least.value_or(rounds), rounds);
  }
  return least.value_or(0);
}

Finding examine_pod_test(const PodTest& pod_test, const GpuNode& on, const facts::NamespaceState& seen,
                         const Floors& floors) {
  const Made made = made_for(pod_test, seen);
  if (static_cast<long long>(made.pods.size()) != pod_test.pods || made.pods.empty())
    return not_made(pod_test, on);
  switch (pod_test.link) {
    case Link::scheduling:
      return check_scheduling(pod_test, on, made);
    case Link::pod:
      return check_pod(pod_test, on, made);
    case Link::compute:
      return check_compute(pod_test, on, made, floors);
    default:
      return check_reload(pod_test, on, made);
  }
}

}  // namespace checks
